//! The kind from a call to a subagent: judged first, then found its turn, then started.
//!
//! Invariant: nobody is started without a permit, and a permit is always settled.

use crate::call::Reply;
use crate::spawn::child::{self, Job};
use crate::spawn::kin::Kin;
use crate::spawn::news::{Turning, Who};
use crate::spawn::present::Present;
use crate::tools::{Arguments, Need, Parameter, Type, Visit};
use picoclaw_policy::{SpawnIntent, SpawnKind};
use picoclaw_sandbox::effects::Spawn;
use picoclaw_sandbox::permit::Permit;
use picoclaw_sandbox::warden::Admission;
use serde_json::Value;
use std::sync::Arc;

/// The longest label.
const LONGEST: usize = 80;

/// The task, as both who wait and who do not are asked for it.
pub(super) const TASK: Parameter = Parameter {
    name: "task",
    kind: Type::Text,
    need: Need::Required,
    about: "What the subagent is to do, in full: it sees nothing of this conversation.",
};

/// The label.
pub(super) const LABEL: Parameter =
    Parameter { name: "label", kind: Type::Text, need: Need::Optional, about: "A short name for it." };

/// A subagent that may start.
pub(super) struct Start {
    pub(super) parent: Arc<Present>,
    pub(super) job: Job,
    pub(super) permit: Permit<Spawn>,
}

/// Checks arguments, and that there is a task at all.
pub(super) fn check<'a>(parameters: &[Parameter], arguments: &'a Value) -> Result<Arguments<'a>, String> {
    let arguments = Arguments::check(parameters, arguments)?;
    if arguments.text("task").trim().is_empty() {
        return Err("property \"task\": must not be empty".to_owned());
    }
    Ok(arguments)
}

/// The label as it is told: on one line.
pub(super) fn label(arguments: &Arguments<'_>) -> String {
    let words = arguments.text("label").split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(LONGEST).collect()
}

/// Asks the desk; the reply says why not.
pub(super) fn admit(
    tool: &str,
    kind: SpawnKind,
    arguments: &Arguments<'_>,
    kin: &Kin,
    visit: &Visit<'_>,
) -> Result<Start, Reply> {
    let (agent, task) = (arguments.text("agent_id"), arguments.text("task"));
    let agent = Some(agent.to_owned()).filter(|agent| !agent.is_empty() || kind == SpawnKind::Delegate);
    let intent = SpawnIntent { kind, agent, task: task.to_owned() };
    let agent_id = intent.agent_id(visit.subject);
    let permit = match visit.warden.admit(tool, visit.subject, Spawn(intent)) {
        Admission::Permit(permit) => permit,
        Admission::Refusal(refusal) => return Err(Reply::Refused(refusal)),
        Admission::Pending(pending) => return Err(Reply::Unasked(visit.warden.unanswered(*pending))),
    };
    let parent = kin.find(visit.subject, visit.halt);
    let (Some(parent), Some(agent)) = (parent, agent_id) else {
        let nobody: Result<(), _> = permit.ended(Err("a subagent can be started only in an agent's turn"));
        return Err(Reply::Failed(nobody.err().unwrap_or_default().to_owned()));
    };
    let id = kin.name();
    let label = Some(label(arguments)).filter(|label| !label.is_empty()).unwrap_or_else(|| id.clone());
    let subject = visit.subject.child(agent.clone(), format!("{}/{id}", visit.subject.session));
    let who = Who { label: parent.runner.clean(&label), id, agent, depth: subject.depth };
    parent.tell(&who, Turning::Began { task: parent.runner.clean(task) });
    Ok(Start { parent, job: Job { who, subject, task: task.to_owned() }, permit })
}

impl Start {
    /// Runs it to its end, on this thread.
    pub(super) fn and_wait(self, visit: &Visit<'_>) -> Reply {
        let Self { parent, job, permit } = self;
        let running = async {
            let slot = match &parent.slot {
                // The parent waits, and its place with it.
                Some(slot) => Arc::clone(slot),
                None => parent.slots.take(visit.halt).await?,
            };
            child::run(&parent, &job, slot, visit.halt).await
        };
        match permit.ended(parent.runtime.block_on(running)) {
            Ok(answer) => Reply::Done(answer),
            Err(why) if child::is_literal(&parent, &job) => Reply::Failed(why),
            Err(why) => Reply::Failed(format!("the subagent failed: {why}")),
        }
    }
}
