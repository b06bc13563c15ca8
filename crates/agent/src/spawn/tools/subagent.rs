//! `subagent`: a subagent that is waited for.
//!
//! Invariant: stopping the turn stops it.

use super::start;
use crate::spawn::kin::Kin;
use crate::tools::{Arguments, Outcome, Parameter, Tool, Visit};
use picoclaw_policy::SpawnKind;
use serde_json::Value;
use std::sync::Arc;

const PARAMETERS: &[Parameter] = &[start::TASK, start::LABEL];

/// Starts a subagent and waits for its answer.
pub(super) struct SubagentTool(pub(super) Arc<Kin>);

impl Tool for SubagentTool {
    fn name(&self) -> &str {
        "subagent"
    }

    fn about(&self) -> &str {
        "Give a task to a subagent and wait for its answer. It works in the same workspace and sees nothing of this conversation."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn check<'a>(&self, arguments: &'a Value) -> Result<Arguments<'a>, String> {
        start::check(PARAMETERS, arguments)
    }

    fn run(&self, arguments: &Arguments<'_>, visit: &Visit<'_>) -> Outcome {
        let started = start::admit(self.name(), SpawnKind::Subagent, arguments, &self.0, visit);
        started.map(|start| start.and_wait(visit)).into()
    }
}
