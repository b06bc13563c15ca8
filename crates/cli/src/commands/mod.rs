//! One command a file.
//!
//! Invariant: a command answers an exit code; it never ends the process itself.

pub mod audit;
