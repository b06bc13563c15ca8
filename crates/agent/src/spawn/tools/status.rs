//! `spawn_status`: what became of the subagents that were spawned.
//!
//! Invariant: a session learns about its own subagents alone.

use crate::call::Reply;
use crate::spawn::kin::Kin;
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, Type, Visit};
use std::sync::Arc;

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "task_id",
    kind: Type::Text,
    need: Need::Optional,
    about: "One subagent, such as subagent-1. Left out, all of this session's.",
}];

/// Tells what subagents are up to.
pub(super) struct SpawnStatus(pub(super) Arc<Kin>);

impl Tool for SpawnStatus {
    fn name(&self) -> &str {
        "spawn_status"
    }

    fn about(&self) -> &str {
        "Say which subagents were spawned in this session, and whether they wait, run or have ended."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, visit: &Visit<'_>) -> Outcome {
        if let Err(refusal) = visit.warden.policy().check_tool(self.name(), visit.subject) {
            return Reply::Refused(visit.warden.refuse_call(self.name(), visit.subject, refusal)).into();
        }
        let id = Some(arguments.text("task_id").trim()).filter(|id| !id.is_empty());
        visit.warden.record_read_only(
            self.name(),
            visit.subject,
            id.unwrap_or("every subagent of this session"),
        );
        match self.0.register(visit.subject).tell(id) {
            Some(told) => Reply::Done(told).into(),
            None => {
                let id = id.unwrap_or_default();
                Reply::Failed(format!("this session has no subagent `{id}`")).into()
            }
        }
    }
}
