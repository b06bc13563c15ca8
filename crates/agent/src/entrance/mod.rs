//! What every listener of ours asks of whoever knocks: for which host, from whose page, with which token, and in time.
//!
//! Invariant: everything here is decided by the head of a request, before its body is read.

mod host;
mod patience;
mod token;

pub(crate) use host::{Hosts, misled};
pub(crate) use patience::{Flowing, PATIENCE, Timely};
pub use token::{Token, TokenFault};
