//! `spawn`: starts a subagent in the background. Its result is delivered to the turn later.

use super::Shared;
use super::admit::{self, AdmittedChild};
use crate::call::Reply;
use crate::subagent::{child, messages};
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, ToolContext, Type};
use picoclaw_policy::SpawnKind;
use serde_json::Value;
use std::sync::Arc;

const PARAMETERS: &[Parameter] = &[
    admit::TASK,
    admit::LABEL,
    Parameter {
        name: "agent_id",
        kind: Type::Text,
        need: Need::Optional,
        about: "Another agent that is to do it, in its own workspace. Left out, the subagent works in yours.",
    },
];

/// Starts a subagent in the background.
pub(super) struct SpawnTool(pub(super) Arc<Shared>);

impl Tool for SpawnTool {
    fn name(&self) -> &str {
        "spawn"
    }

    fn about(&self) -> &str {
        "Start a subagent on a task of its own in the background. Its result comes later, as a message that begins with [SubTurn Result]."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn check<'a>(&self, arguments: &'a Value) -> Result<Arguments<'a>, String> {
        admit::check(PARAMETERS, arguments)
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let admitted = match admit::admit(self.name(), SpawnKind::Spawn, arguments, &self.0, context) {
            Ok(admitted) => admitted,
            Err(reply) => return reply.into(),
        };
        let AdmittedChild { parent, child, permit } = admitted;
        let guard = match parent.children.begin(&child.info) {
            Ok(guard) => guard,
            Err(why) => return admit::settle_failed(permit, why).into(),
        };
        let reply = messages::spawned(&admit::label(arguments), arguments.text("task"));
        let shared = Arc::clone(&self.0);
        let status = shared.status.of(context.subject).add(child.info.clone(), &child.task);
        let runtime = parent.runtime.clone();
        runtime.spawn(async move {
            let halt = parent.children.halt();
            let result = match parent.subagent_slots.take(halt).await {
                Err(why) => Err(why),
                Ok(slot) => {
                    status.set_running();
                    child::run(&parent, &child, slot, halt).await
                }
            };
            shared.status.remove(&child.subject);
            status.set_ended(&result);
            guard.finish(permit.ended(result));
        });
        Reply::Done(reply).into()
    }
}
