//! Runs jobs: a message is a turn, a command is a call of `exec`. Policy, cage and hooks apply as
//! to any other call.

use super::job::{LastStatus, Task};
use super::job_run::{JobFuture, JobResult, JobRun, JobRunner};
use crate::call::Reply;
use crate::executor::ToolExecutor;
use crate::message::ToolCall;
use crate::providers::ProviderKind;
use crate::run::{Event, Runner, Steering, Turn, TurnError};
use crate::tools::Registry;
use picoclaw_policy::config::Config;
use picoclaw_policy::{AgentId, Code, Layer, Origin, Refusal, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::launch::CancelToken;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

/// Receives the events of a job's turn. A dropped question counts as refused.
pub type EventSink = Arc<dyn Fn(&Subject, Event) + Send + Sync>;

/// Sessions of one job that are kept.
const SESSIONS_RETAINED: usize = 20;

/// Runs jobs.
pub struct JobExecutor {
    runner: Runner,
    /// The same warden, and an `exec` with the timeout of jobs.
    executor: ToolExecutor,
    allow_command: bool,
    events: EventSink,
}

impl JobExecutor {
    /// An executor with this runner and this executor's warden.
    pub fn new(runner: Runner, executor: &ToolExecutor, config: &Config, events: EventSink) -> Self {
        let mut tools = config.tools.clone();
        tools.exec.timeout_seconds = match tools.cron_exec_timeout_minutes {
            // Zero is no limit.
            0 => u64::from(u32::MAX),
            minutes => minutes.saturating_mul(60),
        };
        let registry = Registry::new(&tools, Redactor::new(&config.secrets));
        let executor = ToolExecutor::new(Arc::clone(executor.warden()), Arc::new(registry));
        Self { runner, executor, allow_command: tools.cron_allow_command, events }
    }

    async fn run_job(&self, run: &JobRun, halt: &CancelToken) -> JobResult {
        let lineage = run.lineage.iter().map(|name| AgentId::parse(name)).collect::<Option<Vec<_>>>();
        let (Some(agent), Some(lineage)) = (AgentId::parse(&run.agent), lineage) else {
            return JobResult::error("the job's agent has no valid name");
        };
        let session = match &run.task {
            Task::Command(_) => format!("cron:{}", run.id),
            Task::Message(_) => format!("{}{}", session_prefix(run), run.began_ms),
        };
        let depth = u32::try_from(lineage.len()).unwrap_or(u32::MAX);
        let subject = Subject { origin: Origin::Cron, agent, session, depth, lineage, principal: None };
        if let Err(refusal) = self.executor.warden().policy().check_tool("cron", &subject) {
            return self.refuse(&subject, refusal).await;
        }
        match &run.task {
            Task::Command(_) if !self.allow_command => self.refuse(&subject, commands_disabled()).await,
            Task::Command(command) => self.command(command, subject, halt).await,
            Task::Message(message) => {
                let result = self.message(message, &subject, halt).await;
                self.remove_old_sessions(run, &subject.agent).await;
                result
            }
        }
    }

    async fn command(&self, command: &str, subject: Subject, halt: &CancelToken) -> JobResult {
        let call = ToolCall {
            id: "cron".to_owned(),
            name: "exec".to_owned(),
            arguments: json!({"command": command}).to_string(),
        };
        let observed = subject.clone();
        let events = |event: Event| (self.events)(&observed, event);
        let steering = Steering::new();
        let turn =
            Turn { subject, input: String::new(), model: None, events: &events, steering: &steering, halt };
        match self.runner.run_call(&self.executor, &call, &turn).await {
            Ok(reply) => JobResult { status: status_of(&reply), text: reply.text() },
            Err(why) => failed(&why),
        }
    }

    async fn message(&self, message: &str, subject: &Subject, halt: &CancelToken) -> JobResult {
        let last = Mutex::new(LastStatus::Ok);
        let events = |event: Event| {
            if let Event::ToolResult { reply, .. } = &event {
                *last.lock().unwrap_or_else(PoisonError::into_inner) = status_of(reply);
            }
            (self.events)(subject, event);
        };
        let turn = Turn {
            subject: subject.clone(),
            input: message.to_owned(),
            model: None,
            events: &events,
            steering: &Steering::new(),
            halt,
        };
        let is_direct =
            self.runner.provider_kind(&subject.agent, None).is_ok_and(|kind| kind == ProviderKind::Direct);
        let outcome = self.runner.turn(turn).await;
        let last = *last.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Err(why) => failed(&why),
            Ok(outcome) if outcome.needs_approval => {
                JobResult { status: LastStatus::Refused, text: outcome.answer }
            }
            Ok(outcome) if is_direct => JobResult { status: last, text: outcome.answer },
            // A model that goes on after a refusal may still have finished its task.
            Ok(outcome) => JobResult { status: LastStatus::Ok, text: outcome.answer },
        }
    }

    /// Refuses the job, and records that.
    async fn refuse(&self, subject: &Subject, refusal: Refusal) -> JobResult {
        let (warden, subject) = (Arc::clone(self.executor.warden()), subject.clone());
        let refused =
            tokio::task::spawn_blocking(move || warden.refuse_call("cron", &subject, refusal)).await;
        match refused {
            Ok(refusal) => JobResult { status: LastStatus::Refused, text: refusal.to_string() },
            Err(why) => JobResult::error(why.to_string()),
        }
    }

    /// Removes the oldest sessions of a job.
    async fn remove_old_sessions(&self, run: &JobRun, agent: &AgentId) {
        let (sessions, prefix, agent) = (self.runner.sessions().clone(), session_prefix(run), agent.clone());
        let removed = tokio::task::spawn_blocking(move || {
            let mut names: Vec<_> = sessions.list(&agent)?.into_iter().map(|listed| listed.name).collect();
            names.retain(|name| name.starts_with(&prefix));
            // The times have the same number of digits, so this is their order.
            names.sort_unstable();
            names.iter().rev().skip(SESSIONS_RETAINED).try_for_each(|name| sessions.clear(&agent, name))
        });
        if let Ok(Err(why)) = removed.await {
            tracing::warn!(target: "cron", job = %run.id, error = %why, "Older sessions of the job stay");
        }
    }
}

impl JobRunner for JobExecutor {
    fn run<'r>(&'r self, run: &'r JobRun, halt: &'r CancelToken) -> JobFuture<'r> {
        Box::pin(self.run_job(run, halt))
    }
}

fn session_prefix(run: &JobRun) -> String {
    format!("agent:cron-{}-", run.id)
}

fn status_of(reply: &Reply) -> LastStatus {
    match reply {
        Reply::Done(_) => LastStatus::Ok,
        Reply::Failed(_) | Reply::Ended { .. } => LastStatus::Error,
        Reply::Refused(_) | Reply::NeedsApproval(_) => LastStatus::Refused,
    }
}

fn failed(why: &TurnError) -> JobResult {
    JobResult::error(why.to_string())
}

/// The refusal of a command where jobs may not be commands.
pub(super) fn commands_disabled() -> Refusal {
    Refusal {
        code: Code::ToolDisabled,
        sentence: "scheduled commands are switched off".to_owned(),
        rule: "tools.cron.allow_command".to_owned(),
        layer: Layer::Policy,
        hint: "the operator can set `tools.cron.allow_command`; `command_confirm` does not".to_owned(),
    }
}
