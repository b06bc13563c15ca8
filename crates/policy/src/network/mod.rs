//! Connections: parsing of web addresses, and which hosts may be reached.
//!
//! A host is judged by the addresses it resolves to, never by its name.

mod allowed_hosts;
mod host_rules;
mod intent;
mod ip_ranges;
mod judge;
mod ports;
mod proxy;
mod web_address;

pub use allowed_hosts::{AllowedHosts, HostPattern, HostPatternFault, HostVerdict};
pub use host_rules::{HostRules, Network, NetworkFault};
pub use intent::{ConnectIntent, Resolution};
pub use ip_ranges::why_not_public;
pub(crate) use judge::judge;
pub use proxy::ProxyAddress;
pub use web_address::{MAX_URL_LEN, Scheme, UrlFault, WebAddress};
