//! `spawn`: a subagent in the background.
//!
//! Invariant: the answer comes at once, and the result to the turn that asked, once.

use super::start::{self, Start};
use crate::call::Reply;
use crate::spawn::child;
use crate::spawn::kin::Kin;
use crate::spawn::wording;
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, Type, Visit};
use picoclaw_policy::SpawnKind;
use serde_json::Value;
use std::sync::Arc;

const PARAMETERS: &[Parameter] = &[
    start::TASK,
    start::LABEL,
    Parameter {
        name: "agent_id",
        kind: Type::Text,
        need: Need::Optional,
        about: "Another agent that is to do it, in its own workspace. Left out, the subagent works in yours.",
    },
];

/// Starts a subagent and goes on.
pub(super) struct SpawnTool(pub(super) Arc<Kin>);

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
        start::check(PARAMETERS, arguments)
    }

    fn run(&self, arguments: &Arguments<'_>, visit: &Visit<'_>) -> Outcome {
        let start = match start::admit(self.name(), SpawnKind::Spawn, arguments, &self.0, visit) {
            Ok(start) => start,
            Err(reply) => return reply.into(),
        };
        let Start { parent, job, permit } = start;
        let underway = match parent.brood.begin(&job.who) {
            Ok(underway) => underway,
            Err(why) => {
                let full: Result<(), String> = permit.ended(Err(why));
                return Reply::Failed(full.err().unwrap_or_default()).into();
            }
        };
        let said = wording::spawned(&start::label(arguments), arguments.text("task"));
        let task = parent.register.add(job.who.clone(), &job.task);
        let runtime = parent.runtime.clone();
        runtime.spawn(async move {
            let brood = Arc::clone(&parent.brood);
            let result = match parent.slots.take(brood.halt()).await {
                Err(why) => Err(why),
                Ok(slot) => {
                    task.runs();
                    child::run(&parent, &job, slot, brood.halt()).await
                }
            };
            task.ended(&result);
            underway.brings(wording::result(&job.who, &permit.ended(result)));
        });
        Reply::Done(said).into()
    }
}
