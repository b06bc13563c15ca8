//! Warden and rooms: effects under authority.
//!
//! Invariant: synchronous, and every effect on the machine goes through one of its rooms.

pub mod isolate;
pub mod launch;
