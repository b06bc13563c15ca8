//! The commands, one a file.
//!
//! Invariant: a command composes and renders; it decides nothing that the desk should decide.

pub mod audit;
pub mod check;
pub mod config;
pub mod manual;
pub mod onboard;
pub mod status;
pub mod tool;
pub mod version;
