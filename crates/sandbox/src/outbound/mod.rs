//! Connections to the web, under a key: a host is looked up once, judged, and connected to by number.
//!
//! What is above a connection (TLS, HTTP) is not done here: `web_fetch` does that over the socket of a [`Line`].
//!
//! Invariant: the address that was judged is the address that is dialled; nothing is looked up in between.

mod bound;
mod dial;
mod error;
mod kind;
mod line;
mod lookup;
mod room;
mod tunnel;

pub use bound::{Bound, Stopped};
pub use error::OutboundError;
pub use kind::Connect;
pub use line::Line;
pub use lookup::{HostResolver, Resolver};
pub use room::Outbound;
