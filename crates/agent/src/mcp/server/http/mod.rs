//! Streamable HTTP, for clients that are no parent process of ours.
//!
//! Invariant: before a request is read beyond its head, it has shown the token, from a page of nobody else's.

mod door;
mod listen;
mod watch;

pub use crate::entrance::Token;
pub use listen::serve;
pub(super) use watch::halt_of;
