//! Warden and rooms: effects, under authority.
//!
//! Invariant: an effect that is not in the ledger cannot be expressed.

pub mod root;
