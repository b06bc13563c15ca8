//! `delegate`: gives a task to another agent and waits for its answer.

use super::{Shared, admit};
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, ToolContext, Type};
use picoclaw_policy::SpawnKind;
use picoclaw_policy::config::Config;
use serde_json::Value;
use std::sync::Arc;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "agent_id", kind: Type::Text, need: Need::Required, about: "The other agent." },
    Parameter {
        name: "task",
        kind: Type::Text,
        need: Need::Required,
        about: "What it is to do, in full: it sees nothing of this conversation.",
    },
];

/// Gives a task to another agent, in that agent's workspace.
pub(super) struct Delegate {
    shared: Arc<Shared>,
    about: String,
}

impl Delegate {
    pub(super) fn new(shared: &Arc<Shared>, config: &Config) -> Self {
        let names: Vec<_> = config.agents.iter().map(|agent| agent.id.as_str()).collect();
        let about = format!(
            "Hand a task over to another agent and wait for its answer. It works in its own workspace. The agents are: {}.",
            names.join(", ")
        );
        Self { shared: Arc::clone(shared), about }
    }
}

impl Tool for Delegate {
    fn name(&self) -> &str {
        "delegate"
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn check<'a>(&self, arguments: &'a Value) -> Result<Arguments<'a>, String> {
        admit::check(PARAMETERS, arguments)
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let admitted = admit::admit(self.name(), SpawnKind::Delegate, arguments, &self.shared, context);
        admitted.map(|child| child.run_and_wait(&self.shared, context)).into()
    }
}
