//! `exec`: runs commands, now or in the background.
//!
//! Invariant: every action passes the desk; a session answers only to whoever started it.

mod actions;
mod parameters;
mod render;
mod sessions;
mod tool;

pub(super) use tool::ExecTool;
