//! Resolves host names and connects to addresses, within a wait limit. Nothing is decided here.

mod dns;
#[cfg(target_os = "linux")]
mod host_dialer;
#[cfg(target_os = "linux")]
mod socket_linux;
#[cfg(not(target_os = "linux"))]
mod socket_threads;
mod try_each;
mod wait_limit;

#[cfg(target_os = "linux")]
use socket_linux as socket;
#[cfg(not(target_os = "linux"))]
use socket_threads as socket;

pub(crate) use dns::DnsLookup;
pub use dns::{HostResolver, Resolver};
#[cfg(target_os = "linux")]
pub(crate) use host_dialer::HostDialer;
pub(crate) use socket::dial;
pub(crate) use try_each::try_each;
pub(crate) use wait_limit::Readiness;
pub use wait_limit::{WaitEnded, WaitLimit};
