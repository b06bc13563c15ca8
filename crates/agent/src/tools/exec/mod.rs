//! `exec`: runs commands, in the foreground or in background sessions.

mod actions;
mod parameters;
mod render;
mod sessions;
mod tool;

pub(super) use tool::ExecTool;
