//! Outgoing connections under permits: a host is resolved once, judged, and connected to by
//! address.
//!
//! The address that is connected to is one that was judged. TLS and HTTP are not done here:
//! `web_fetch` does them over the socket of a [`Connection`].

mod connection;
mod connector;
mod error;
mod proxy_tunnel;

pub use crate::dial::{HostResolver, Resolver, WaitEnded, WaitLimit};
pub use connection::{Connection, can_connect};
pub use connector::{Connect, Outbound};
pub use error::OutboundError;
