//! `subagent`: starts a subagent and waits for its answer.

use super::{Shared, admit};
use crate::tools::{Arguments, Outcome, Parameter, Tool, ToolContext};
use picoclaw_policy::SpawnKind;
use serde_json::Value;
use std::sync::Arc;

const PARAMETERS: &[Parameter] = &[admit::TASK, admit::LABEL];

/// Starts a subagent and waits for its answer.
pub(super) struct SubagentTool(pub(super) Arc<Shared>);

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
        admit::check(PARAMETERS, arguments)
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let admitted = admit::admit(self.name(), SpawnKind::Subagent, arguments, &self.0, context);
        admitted.map(|child| child.run_and_wait(&self.0, context)).into()
    }
}
