//! `spawn_status`: the status of the session's own subagents.

use super::Shared;
use crate::call::Reply;
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, ToolContext, Type};
use std::sync::Arc;

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "task_id",
    kind: Type::Text,
    need: Need::Optional,
    about: "One subagent, such as subagent-1. Left out, all of this session's.",
}];

/// Reports the status of subagents.
pub(super) struct SpawnStatus(pub(super) Arc<Shared>);

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

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        if let Err(refusal) = context.warden.policy().check_tool(self.name(), context.subject) {
            return Reply::Refused(context.warden.refuse_call(self.name(), context.subject, refusal)).into();
        }
        let id = Some(arguments.text("task_id").trim()).filter(|id| !id.is_empty());
        context.warden.record_read_only(
            self.name(),
            context.subject,
            id.unwrap_or("every subagent of this session"),
        );
        match self.0.status.of(context.subject).render(id) {
            Some(text) => Reply::Done(text).into(),
            None => {
                let id = id.unwrap_or_default();
                Reply::Failed(format!("this session has no subagent `{id}`")).into()
            }
        }
    }
}
