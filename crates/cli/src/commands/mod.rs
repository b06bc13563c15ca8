//! One file a command: each takes what it needs and says how it went as an exit status.
//!
//! Invariant: results go to the writer for results, and everything else to the other one.

pub(crate) mod config;
