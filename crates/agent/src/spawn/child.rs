//! One subagent, from its task to its result.
//!
//! Invariant: it ends when it has answered, when its time is over, or when whoever started it is stopped, and leaves nothing running.

use super::news::{Subturn, Turning, Who};
use super::present::{Above, Present};
use super::slots::Slot;
use super::wording;
use crate::providers::ProviderKind;
use crate::run::{Event, Steering, Turn, TurnError};
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::launch::CancelToken;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long a stopped subagent may take to come to its end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// A subagent to be.
pub(super) struct Job {
    pub(super) who: Who,
    pub(super) subject: Subject,
    pub(super) task: String,
}

/// Runs it in its place, until it has ended or `halt` is raised, and tells how it went.
pub(super) async fn run(
    parent: &Present,
    job: &Job,
    slot: Arc<Slot>,
    halt: &CancelToken,
) -> Result<String, String> {
    let began = Instant::now();
    let result = within_its_time(parent, job, slot, halt).await;
    let (registry, subject) = (parent.runner.hall().registry(), job.subject.clone());
    // What it left in the background would be nobody's.
    let parting = tokio::task::spawn_blocking(move || registry.part(&subject));
    if let Err(why) = parting.await {
        tracing::warn!(target: "agent", "What a subagent left could not be ended: {why}");
    }
    parent.tell(&job.who, Turning::Ended { result: result.clone(), took: began.elapsed() });
    result
}

async fn within_its_time(
    parent: &Present,
    job: &Job,
    slot: Arc<Slot>,
    halt: &CancelToken,
) -> Result<String, String> {
    let runner = &parent.runner;
    let model = model(parent, &job.subject.agent);
    let kind = runner
        .provider_kind(&job.subject.agent, model.as_deref())
        .map_err(|why| TurnError::from(why).to_string())?;
    let own = CancelToken::new();
    let events = |event: Event| pass_on(parent, &job.who, event);
    let turn = Turn {
        subject: job.subject.clone(),
        input: wording::task(&job.task, &parent.subject, kind),
        model,
        events: &events,
        steering: &Steering::new(),
        halt: &own,
    };
    let above = Above {
        slots: Arc::clone(&parent.slots),
        slot,
        allowance: parent.allowance.clone(),
        turn: parent.turn.clone(),
        lane: parent.lane.clone(),
    };
    let minutes = runner.config().turns.subturn.default_timeout_minutes;
    let mut ending = pin!(runner.below(turn, &above));
    let why = tokio::select! {
        biased;
        ended = &mut ending => {
            let ending = ended.map_err(|why| told(&why))?;
            parent.brood.count(ending.usage, ending.unasked);
            // With nobody between the task and the tool, the tool's failure is the subagent's.
            let has_failed = kind == ProviderKind::Direct && ending.failed;
            return if has_failed { Err(ending.answer) } else { Ok(ending.answer) };
        }
        () = halt.cancelled() => "it was stopped".to_owned(),
        () = sleep(Duration::from_secs(minutes.saturating_mul(60))) => format!(
            "it did not end within {minutes} min (`agents.defaults.subturn.default_timeout_minutes`)"
        ),
    };
    own.cancel();
    let _given_up = timeout(GRACE, ending).await;
    Err(why)
}

/// Whether it asks no model: what it says is then what a tool said.
pub(super) fn is_literal(parent: &Present, job: &Job) -> bool {
    let agent = &job.subject.agent;
    let kind = parent.runner.provider_kind(agent, model(parent, agent).as_deref());
    kind.is_ok_and(|kind| kind == ProviderKind::Direct)
}

fn told(why: &TurnError) -> String {
    match why {
        TurnError::Halted => "it was stopped".to_owned(),
        other => other.to_string(),
    }
}

/// The model that its parent's agent names for subagents. Another agent's own model goes first: it was chosen for it.
fn model(parent: &Present, agent: &AgentId) -> Option<String> {
    let config = parent.runner.config();
    let find = |id: &AgentId| config.agents.iter().find(|known| known.id == *id);
    let starter = find(&parent.subject.agent).and_then(|starter| starter.subagent_model.clone());
    if *agent == parent.subject.agent {
        return starter.or_else(|| parent.model.clone());
    }
    match find(agent).and_then(|own| own.model.clone()) {
        Some(_) => None,
        None => starter,
    }
}

/// What happens in a subagent goes up to the person: calls and questions at once, its flowing words not at all.
fn pass_on(parent: &Present, who: &Who, event: Event) {
    match event {
        Event::Text(_) | Event::ToolOutput { .. } | Event::Said(_) => {}
        Event::Subturn(Subturn { who, what }) => parent.tell(&who, what),
        other => parent.tell(who, Turning::Event(Box::new(other))),
    }
}
