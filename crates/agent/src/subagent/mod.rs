//! Subagents: turns that a turn starts.
//!
//! A subagent's calls pass the same executor, under a subject that records every agent above it.
//! Its permissions are the intersection of theirs; its slot, its tokens and its time are taken from
//! theirs, and it ends with the turn that started it.

mod child;
mod messages;
mod status;
mod tools;

use crate::run::Runner;

/// Adds the tools that start subagents to those of `runner`.
pub fn install(runner: &Runner) {
    let executor = runner.executor();
    let tools = tools::all(runner.turns(), runner.config());
    executor.replace_registry(executor.registry().with(tools));
}
