//! Outgoing connections under permits: a host is resolved once, judged, and connected to by
//! address.
//!
//! The address that is connected to is one that was judged. TLS and HTTP are not done here:
//! `web_fetch` does them over the socket of a [`Connection`].

mod connection;
mod connector;
mod dns;
mod error;
mod proxy_tunnel;
#[cfg(target_os = "linux")]
mod socket_linux;
#[cfg(not(target_os = "linux"))]
mod socket_threads;
mod wait_limit;

#[cfg(target_os = "linux")]
use socket_linux as socket;
#[cfg(not(target_os = "linux"))]
use socket_threads as socket;

pub use connection::{Connection, can_connect};
pub use connector::{Connect, Outbound};
pub use dns::{HostResolver, Resolver};
pub use error::OutboundError;
pub use wait_limit::{WaitEnded, WaitLimit};
