//! Running jobs for real: a message is a turn, a command is a call of `exec`.
//!
//! Invariant: a job passes the desk, the cage and the hooks of its agent when it runs, whoever wrote it into the store.

use super::firing::{Done, Firing, Running, Runs};
use super::job::{LastStatus, Task};
use crate::call::Reply;
use crate::executor::ToolExecutor;
use crate::message::ToolCall;
use crate::run::{Event, Runner, Steering, Turn, TurnError};
use crate::tools::Registry;
use picoclaw_policy::config::Config;
use picoclaw_policy::{AgentId, Code, Layer, Origin, Refusal, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::launch::CancelToken;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

/// Hears what happens in a job's turn; questions too, which mean no when they are dropped.
pub type Hear = Arc<dyn Fn(&Subject, Event) + Send + Sync>;

/// Sessions of one job that are kept.
const KEPT: usize = 20;

/// The embedded provider: its answer is its one tool's reply.
const DIRECT: &str = "direct";

/// Runs jobs.
pub struct Jobs {
    runner: Runner,
    /// The same desk, and an `exec` with the time that jobs have.
    executor: ToolExecutor,
    may_command: bool,
    hear: Hear,
}

impl Jobs {
    /// With this runner, and the tools behind this executor's warden.
    pub fn new(runner: Runner, executor: &ToolExecutor, config: &Config, hear: Hear) -> Self {
        let mut tools = config.tools.clone();
        tools.exec.timeout_seconds = match tools.cron_exec_timeout_minutes {
            // No limit, as far as clocks go.
            0 => u64::from(u32::MAX),
            minutes => minutes.saturating_mul(60),
        };
        let registry = Registry::new(&tools, Redactor::new(&config.secrets));
        let executor = ToolExecutor::new(Arc::clone(executor.warden()), Arc::new(registry));
        Self { runner, executor, may_command: tools.cron_allow_command, hear }
    }

    async fn fire(&self, firing: &Firing, halt: &CancelToken) -> Done {
        let lineage = firing.lineage.iter().map(|name| AgentId::parse(name)).collect::<Option<Vec<_>>>();
        let (Some(agent), Some(lineage)) = (AgentId::parse(&firing.agent), lineage) else {
            return Done::error("the job's agent has no valid name");
        };
        let session = match &firing.task {
            Task::Command(_) => format!("cron:{}", firing.id),
            Task::Message(_) => format!("{}{}", stem(firing), firing.began_ms),
        };
        let depth = u32::try_from(lineage.len()).unwrap_or(u32::MAX);
        let subject = Subject { origin: Origin::Cron, agent, session, depth, lineage };
        if let Err(refusal) = self.executor.warden().policy().check_tool("cron", &subject) {
            return self.refuse(&subject, refusal).await;
        }
        match &firing.task {
            Task::Command(_) if !self.may_command => self.refuse(&subject, no_commands()).await,
            Task::Command(command) => self.command(command, subject, halt).await,
            Task::Message(message) => {
                let done = self.message(message, &subject, halt).await;
                self.forget(firing, &subject.agent).await;
                done
            }
        }
    }

    async fn command(&self, command: &str, subject: Subject, halt: &CancelToken) -> Done {
        let call = ToolCall {
            id: "cron".to_owned(),
            name: "exec".to_owned(),
            arguments: json!({"command": command}).to_string(),
        };
        let heard = subject.clone();
        let events = |event: Event| (self.hear)(&heard, event);
        let steering = Steering::new();
        let turn =
            Turn { subject, input: String::new(), model: None, events: &events, steering: &steering, halt };
        match self.runner.run_call(&self.executor, &call, &turn).await {
            Ok(reply) => Done { status: status_of(&reply), text: reply.text() },
            Err(why) => failed(&why),
        }
    }

    async fn message(&self, message: &str, subject: &Subject, halt: &CancelToken) -> Done {
        let last = Mutex::new(LastStatus::Ok);
        let events = |event: Event| {
            if let Event::ToolResult { reply, .. } = &event {
                *last.lock().unwrap_or_else(PoisonError::into_inner) = status_of(reply);
            }
            (self.hear)(subject, event);
        };
        let turn = Turn {
            subject: subject.clone(),
            input: message.to_owned(),
            model: None,
            events: &events,
            steering: &Steering::new(),
            halt,
        };
        let ended = self.runner.turn(turn).await;
        let last = *last.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Err(why) => failed(&why),
            Ok(ending) if ending.needs_approval => Done { status: LastStatus::Refused, text: ending.answer },
            // A model that goes on after a refusal may still have done what it was asked to.
            Ok(ending) if ending.model == DIRECT => Done { status: last, text: ending.answer },
            Ok(ending) => Done { status: LastStatus::Ok, text: ending.answer },
        }
    }

    /// Says no, and has it recorded.
    async fn refuse(&self, subject: &Subject, refusal: Refusal) -> Done {
        let (warden, subject) = (Arc::clone(self.executor.warden()), subject.clone());
        let told = tokio::task::spawn_blocking(move || warden.refuse_call("cron", &subject, refusal)).await;
        match told {
            Ok(refusal) => Done { status: LastStatus::Refused, text: refusal.to_string() },
            Err(why) => Done::error(why.to_string()),
        }
    }

    /// Removes the oldest sessions of a job.
    async fn forget(&self, firing: &Firing, agent: &AgentId) {
        let (sessions, stem, agent) = (self.runner.sessions().clone(), stem(firing), agent.clone());
        let forgotten = tokio::task::spawn_blocking(move || {
            let mut names: Vec<_> = sessions.list(&agent)?.into_iter().map(|listed| listed.name).collect();
            names.retain(|name| name.starts_with(&stem));
            // Moments of one length: the order of the text is that of time.
            names.sort_unstable();
            names.iter().rev().skip(KEPT).try_for_each(|name| sessions.clear(&agent, name))
        });
        if let Ok(Err(why)) = forgotten.await {
            tracing::warn!(target: "cron", job = %firing.id, error = %why, "Older sessions of the job stay");
        }
    }
}

impl Runs for Jobs {
    fn run<'r>(&'r self, firing: &'r Firing, halt: &'r CancelToken) -> Running<'r> {
        Box::pin(self.fire(firing, halt))
    }
}

fn stem(firing: &Firing) -> String {
    format!("agent:cron-{}-", firing.id)
}

fn status_of(reply: &Reply) -> LastStatus {
    match reply {
        Reply::Done(_) => LastStatus::Ok,
        Reply::Failed(_) | Reply::Ended { .. } => LastStatus::Error,
        Reply::Refused(_) | Reply::NeedsApproval(_) => LastStatus::Refused,
    }
}

fn failed(why: &TurnError) -> Done {
    Done::error(why.to_string())
}

/// What is said to a command where jobs may not be commands.
pub(super) fn no_commands() -> Refusal {
    Refusal {
        code: Code::ToolDisabled,
        sentence: "scheduled commands are switched off".to_owned(),
        rule: "tools.cron.allow_command".to_owned(),
        layer: Layer::Policy,
        hint: "the operator can set `tools.cron.allow_command`; `command_confirm` does not".to_owned(),
    }
}
