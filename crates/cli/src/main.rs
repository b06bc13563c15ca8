//! The front door: the `picoclaw` binary.
//!
//! Invariant: composes and renders; decides nothing.

fn main() {}
