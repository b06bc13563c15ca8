//! `delegate`: a task for another agent, and its answer.
//!
//! Invariant: only agents that the configuration lets this one start, each in its own workspace.

use super::start;
use crate::spawn::kin::Kin;
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, Type, Visit};
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

/// Hands a task over and waits for the answer.
pub(super) struct Delegate {
    kin: Arc<Kin>,
    about: String,
}

impl Delegate {
    pub(super) fn new(kin: &Arc<Kin>, config: &Config) -> Self {
        let names: Vec<_> = config.agents.iter().map(|agent| agent.id.as_str()).collect();
        let about = format!(
            "Hand a task over to another agent and wait for its answer. It works in its own workspace. The agents are: {}.",
            names.join(", ")
        );
        Self { kin: Arc::clone(kin), about }
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
        start::check(PARAMETERS, arguments)
    }

    fn run(&self, arguments: &Arguments<'_>, visit: &Visit<'_>) -> Outcome {
        let started = start::admit(self.name(), SpawnKind::Delegate, arguments, &self.kin, visit);
        started.map(|start| start.and_wait(visit)).into()
    }
}
