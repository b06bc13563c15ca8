//! Effects that the caller carries out itself: calling an MCP server, editing the schedule, starting a subagent.
//!
//! The permit of each is settled with the outcome of what the caller did.

use crate::permit::{Effect, Permit, Sealed};
use picoclaw_policy::{Intent, McpCallIntent, ScheduleIntent, SpawnIntent};
use std::fmt::Display;

/// A call to a tool of an MCP server.
#[derive(Debug)]
pub struct McpCall(pub McpCallIntent);

/// Reading or changing the scheduled jobs.
#[derive(Debug)]
pub struct ScheduleEdit(pub ScheduleIntent);

/// Starting a subagent.
#[derive(Debug)]
pub struct Spawn(pub SpawnIntent);

impl Sealed for McpCall {}
impl Sealed for ScheduleEdit {}
impl Sealed for Spawn {}

impl Effect for McpCall {
    fn intent(&self) -> Intent {
        Intent::McpCall(self.0.clone())
    }
}

impl Effect for ScheduleEdit {
    fn intent(&self) -> Intent {
        Intent::Schedule(self.0.clone())
    }
}

impl Effect for Spawn {
    fn intent(&self) -> Intent {
        Intent::Spawn(self.0.clone())
    }
}

impl Permit<McpCall> {
    /// Makes the call with `call` and records its outcome.
    pub fn call<T, E: Display>(self, call: impl FnOnce(&McpCallIntent) -> Result<T, E>) -> Result<T, E> {
        let (McpCall(intent), outcome) = self.spend();
        outcome.settle(call(&intent))
    }
}

impl Permit<ScheduleEdit> {
    /// Runs `edit` and records its outcome.
    pub fn edit<T, E: Display>(self, edit: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let (_, outcome) = self.spend();
        outcome.settle(edit())
    }
}

impl Permit<Spawn> {
    /// Records how the subagent ended.
    pub fn ended<T, E: Display>(self, result: Result<T, E>) -> Result<T, E> {
        let (_, outcome) = self.spend();
        outcome.settle(result)
    }
}
