//! Connections: what an address on the web is, and which hosts may be reached.
//!
//! Invariant: judged by the numbers a name stands for, never by how the name is spelled.

mod host_rules;
mod intent;
mod ip_ranges;
mod judge;
mod ports;
mod proxy;
mod web_address;

pub use host_rules::{HostRules, Network, NetworkFault};
pub use intent::{ConnectIntent, Resolution};
pub use ip_ranges::unreachable_because;
pub(crate) use judge::judge;
pub use proxy::ProxyAddress;
pub use web_address::{LONGEST_URL, Scheme, UrlFault, WebAddress};
