//! Runs one subagent, from its task to its result.

use super::messages;
use crate::providers::ProviderKind;
use crate::run::{ActiveTurn, Event, Steering, SubagentEvent, SubagentInfo, SubagentSlot, Turn, TurnError};
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::launch::CancelToken;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long a stopped subagent may take to end by itself.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// The task of a subagent.
pub(super) struct ChildTask {
    pub(super) info: SubagentInfo,
    pub(super) subject: Subject,
    pub(super) task: String,
}

/// Runs it in its slot until it has ended or `halt` is raised, and ends what it left in the
/// background.
pub(super) async fn run(
    parent: &ActiveTurn,
    child: &ChildTask,
    slot: Arc<SubagentSlot>,
    halt: &CancelToken,
) -> Result<String, String> {
    let began = Instant::now();
    let result = run_turn(parent, child, slot, halt).await;
    let (registry, subject) = (parent.runner.executor().registry(), child.subject.clone());
    let ended = tokio::task::spawn_blocking(move || registry.end_session(&subject));
    if let Err(error) = ended.await {
        tracing::warn!(target: "agent", "Processes of a subagent could not be ended: {error}");
    }
    parent.emit(&child.info, SubagentEvent::Ended { result: result.clone(), took: began.elapsed() });
    result
}

async fn run_turn(
    parent: &ActiveTurn,
    child: &ChildTask,
    slot: Arc<SubagentSlot>,
    halt: &CancelToken,
) -> Result<String, String> {
    let runner = &parent.runner;
    let model = model(parent, &child.subject.agent);
    let kind = runner
        .provider_kind(&child.subject.agent, model.as_deref())
        .map_err(|error| TurnError::from(error).to_string())?;
    let own_halt = CancelToken::new();
    let events = |event: Event| forward(parent, &child.info, event);
    let turn = Turn {
        subject: child.subject.clone(),
        input: messages::task(&child.task, &parent.subject, kind),
        model,
        events: &events,
        steering: &Steering::new(),
        halt: &own_halt,
    };
    let minutes = runner.config().turns.subturn.default_timeout_minutes;
    let mut running = pin!(runner.run_subagent(turn, parent, slot));
    let why = tokio::select! {
        biased;
        outcome = &mut running => {
            let outcome = outcome.map_err(|error| match error {
                TurnError::Halted => "it was stopped".to_owned(),
                other => other.to_string(),
            })?;
            parent.children.count(outcome.usage, outcome.needs_approval);
            // Without a model in between, the failure of the tool is that of the subagent.
            let has_failed = kind == ProviderKind::Direct && outcome.failed;
            return if has_failed { Err(outcome.answer) } else { Ok(outcome.answer) };
        }
        () = halt.cancelled() => "it was stopped".to_owned(),
        () = sleep(Duration::from_secs(minutes.saturating_mul(60))) => format!(
            "it did not end within {minutes} min (`agents.defaults.subturn.default_timeout_minutes`)"
        ),
    };
    own_halt.cancel();
    let _ = timeout(STOP_GRACE, running).await;
    Err(why)
}

/// Whether no model answers: its answer is then a tool's reply.
pub(super) fn is_direct(parent: &ActiveTurn, child: &ChildTask) -> bool {
    let agent = &child.subject.agent;
    let kind = parent.runner.provider_kind(agent, model(parent, agent).as_deref());
    kind.is_ok_and(|kind| kind == ProviderKind::Direct)
}

/// The model that the parent's agent names for subagents. Another agent's own model has precedence.
fn model(parent: &ActiveTurn, agent: &AgentId) -> Option<String> {
    let config = parent.runner.config();
    let find = |id: &AgentId| config.agents.iter().find(|known| known.id == *id);
    let subagent_model = find(&parent.subject.agent).and_then(|starter| starter.subagent_model.clone());
    if *agent == parent.subject.agent {
        return subagent_model.or_else(|| parent.model.clone());
    }
    match find(agent).and_then(|own| own.model.clone()) {
        Some(_) => None,
        None => subagent_model,
    }
}

/// Forwards events of a subagent to its parent, but for streamed text and output.
fn forward(parent: &ActiveTurn, info: &SubagentInfo, event: Event) {
    match event {
        Event::Text(_) | Event::ToolOutput { .. } | Event::Said(_) => {}
        Event::Subagent { info, event } => parent.emit(&info, event),
        other => parent.emit(info, SubagentEvent::Event(Box::new(other))),
    }
}
