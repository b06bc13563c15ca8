//! Connections: what an address on the web is, and which hosts may be reached.
//!
//! Invariant: judged by the numbers a name stands for, never by how the name is spelled.

mod address;
mod blocks;
mod intent;
mod judge;
mod ports;
mod proxy;
mod rules;

pub use address::{LONGEST_URL, Scheme, UrlFault, WebAddress};
pub use blocks::unreachable_because;
pub use intent::{ConnectIntent, Resolution};
pub(crate) use judge::judge;
pub use proxy::ProxyAddress;
pub use rules::{HostRules, Network, NetworkFault};
