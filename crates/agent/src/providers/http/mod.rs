//! Models that are spoken to over HTTP: one connection, one reader of event streams, one way to fail.
//!
//! Invariant: whatever a peer sends is bounded in size and time, and no key leaves for another origin.

mod dialect;
mod failure;
mod peer;
mod spoken;
mod stream;

pub(super) use dialect::{Assembler, Dialect, Mode, Progress, malformed};
pub(super) use failure::whole_error;
pub(super) use peer::Peer;
pub(super) use spoken::Spoken;
