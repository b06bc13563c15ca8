//! From a call to a subagent that may start: the policy judges first, then the turn of the call is
//! looked up.

use super::Shared;
use crate::call::Reply;
use crate::run::{ActiveTurn, SubagentEvent, SubagentInfo};
use crate::subagent::child::{self, ChildTask};
use crate::tools::{Arguments, Need, Parameter, ToolContext, Type};
use picoclaw_policy::{SpawnIntent, SpawnKind};
use picoclaw_sandbox::effects::Spawn;
use picoclaw_sandbox::permit::Permit;
use serde_json::Value;
use std::sync::Arc;

/// The longest label.
const MAX_LABEL_CHARS: usize = 80;

/// The parameter `task`.
pub(super) const TASK: Parameter = Parameter {
    name: "task",
    kind: Type::Text,
    need: Need::Required,
    about: "What the subagent is to do, in full: it sees nothing of this conversation.",
};

/// The parameter `label`.
pub(super) const LABEL: Parameter =
    Parameter { name: "label", kind: Type::Text, need: Need::Optional, about: "A short name for it." };

/// A subagent that may start.
pub(super) struct AdmittedChild {
    pub(super) parent: Arc<ActiveTurn>,
    pub(super) child: ChildTask,
    pub(super) permit: Permit<Spawn>,
}

/// Checks arguments, and that the task is not empty.
pub(super) fn check<'a>(parameters: &[Parameter], arguments: &'a Value) -> Result<Arguments<'a>, String> {
    let arguments = Arguments::check(parameters, arguments)?;
    if arguments.text("task").trim().is_empty() {
        return Err("property \"task\": must not be empty".to_owned());
    }
    Ok(arguments)
}

/// The label, on one line.
pub(super) fn label(arguments: &Arguments<'_>) -> String {
    let words = arguments.text("label").split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_LABEL_CHARS).collect()
}

/// Asks the warden; the reply says why it is refused.
pub(super) fn admit(
    tool: &str,
    kind: SpawnKind,
    arguments: &Arguments<'_>,
    shared: &Shared,
    context: &ToolContext<'_>,
) -> Result<AdmittedChild, Reply> {
    let (agent, task) = (arguments.text("agent_id"), arguments.text("task"));
    let agent = Some(agent.to_owned()).filter(|agent| !agent.is_empty() || kind == SpawnKind::Delegate);
    let intent = SpawnIntent { kind, agent, task: task.to_owned() };
    let agent = intent.agent_id(context.subject);
    let permit = context.admit(tool, Spawn(intent))?;
    let parent = shared.turns.find(context.subject, context.halt);
    let (Some(parent), Some(agent)) = (parent, agent) else {
        return Err(settle_failed(permit, "a subagent can be started only in an agent's turn".to_owned()));
    };
    if let Err(why) = parent.subagent_slots.count_start() {
        return Err(settle_failed(permit, why));
    }
    let id = shared.next_id();
    let label = Some(label(arguments)).filter(|label| !label.is_empty()).unwrap_or_else(|| id.clone());
    let subject = context.subject.child(agent.clone(), format!("{}/{id}", context.subject.session));
    let info = SubagentInfo { label: parent.runner.clean(&label), id, agent, depth: subject.depth };
    parent.emit(&info, SubagentEvent::Began { task: parent.runner.clean(task) });
    Ok(AdmittedChild { parent, child: ChildTask { info, subject, task: task.to_owned() }, permit })
}

/// Settles a permit that could not be used; the reply says why.
pub(super) fn settle_failed(permit: Permit<Spawn>, why: String) -> Reply {
    let failed: Result<(), String> = permit.ended(Err(why));
    Reply::Failed(failed.err().unwrap_or_default())
}

impl AdmittedChild {
    /// Runs it to its end, on this thread.
    pub(super) fn run_and_wait(self, shared: &Shared, context: &ToolContext<'_>) -> Reply {
        let Self { parent, child, permit } = self;
        let running = async {
            let slot = match &parent.subagent_slot {
                // The parent waits, so the child uses its slot.
                Some(slot) => Arc::clone(slot),
                None => parent.subagent_slots.take(context.halt).await?,
            };
            child::run(&parent, &child, slot, context.halt).await
        };
        let result = parent.runtime.block_on(running);
        shared.status.remove(&child.subject);
        match permit.ended(result) {
            Ok(answer) => Reply::Done(answer),
            Err(why) if child::is_direct(&parent, &child) => Reply::Failed(why),
            Err(why) => Reply::Failed(format!("the subagent failed: {why}")),
        }
    }
}
