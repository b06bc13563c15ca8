<<<<<<< HEAD
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
=======
//! One file a command: each takes what it needs and says how it went as an exit status.
//!
//! Invariant: results go to the writer for results, and everything else to the other one.

pub(crate) mod config;
>>>>>>> config
