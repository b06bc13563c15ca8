//! The front door: the parts of the `picoclaw` binary that its `main` puts together.
//!
//! Invariant: stdout carries results only; everything else goes to stderr.

pub mod commands;
pub mod logs;
