//! The heartbeat: a regular turn of the default agent over the tasks in its `HEARTBEAT.md`.

use super::heartbeat_tasks::{TEMPLATE, prompt, tasks};
use crate::run::{Event, Runner, Steering, Turn};
use crate::schedule::LogFile;
use crate::schedule::cron::EventSink;
use picoclaw_policy::config::Config;
use picoclaw_policy::{AgentId, Origin, Subject};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::root::{RootError, WriteContext};
use picoclaw_sandbox::state_dir::StateError;
use picoclaw_sandbox::workspace_reader::WorkspaceReader;
use std::sync::Arc;

const FILE: &str = "HEARTBEAT.md";

/// The part of the file that is read.
const MAX_FILE_BYTES: usize = 32 << 10;

/// The answer of an agent that has nothing to do.
const NOTHING_TO_DO: &str = "HEARTBEAT_OK";

/// The result of one heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeartbeatRun {
    /// There was no file; its template was written.
    Created,
    /// The file has no task.
    Empty,
    /// The agent had nothing to do.
    NothingToDo,
    /// The agent did something; its answer.
    Answered(String),
    /// It failed.
    Failed(String),
}

/// Why there can be no heartbeat.
#[derive(Debug, thiserror::Error)]
pub enum HeartbeatError {
    /// The default agent has no workspace.
    #[error("there is no workspace of agent `{0}`")]
    NoWorkspace(AgentId),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The log cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
}

/// The heartbeat of an instance.
pub struct Heartbeat {
    runner: Runner,
    agent: AgentId,
    tasks: Arc<TaskList>,
    log: LogFile,
    events: EventSink,
}

/// The file in the workspace.
struct TaskList {
    reader: WorkspaceReader,
    write_context: WriteContext,
}

impl Heartbeat {
    /// The heartbeat of the default agent; `events` receives the events of its turns.
    pub fn open(
        runner: Runner,
        instance: &Instance,
        config: &Config,
        events: EventSink,
    ) -> Result<Self, HeartbeatError> {
        let agent = config.default_agent.clone();
        let zones = instance.zones().remove(&agent);
        let zones = zones.ok_or_else(|| HeartbeatError::NoWorkspace(agent.clone()))?;
        let list = TaskList {
            reader: WorkspaceReader::for_agent(&zones)?,
            write_context: WriteContext::new(&instance.locks(), WriteContext::LOCK_TIMEOUT)?,
        };
        let log = LogFile::open(instance.home(), "heartbeat.log")?;
        Ok(Self { runner, agent, tasks: Arc::new(list), log, events })
    }

    /// Whether the default agent's list has a task.
    pub(crate) fn has_tasks(instance: &Instance, config: &Config) -> bool {
        let zones = instance.zones().remove(&config.default_agent);
        let reader = zones.and_then(|zones| WorkspaceReader::for_agent(&zones).ok());
        let text = reader.and_then(|reader| reader.read(FILE, MAX_FILE_BYTES).ok().flatten());
        text.is_some_and(|text| tasks(&text.text).is_some())
    }

    /// Runs one heartbeat.
    pub async fn beat(&self, halt: &CancelToken) -> HeartbeatRun {
        let list = Arc::clone(&self.tasks);
        let (runner, agent) = (self.runner.clone(), self.agent.clone());
        // Before and after: the text that is read lies between.
        let read = tokio::task::spawn_blocking(move || {
            let bounds = runner.bounds_of_file(&agent, FILE);
            let again = || runner.bounds_of_file(&agent, FILE);
            list.read().map(|text| text.map(|text| (text, [bounds, again()].concat())))
        });
        let beat = match read.await {
            Err(why) => HeartbeatRun::Failed(why.to_string()),
            Ok(Err(why)) => HeartbeatRun::Failed(format!("{FILE} cannot be read: {why}")),
            Ok(Ok(None)) => HeartbeatRun::Created,
            Ok(Ok(Some((text, bounds)))) => match tasks(&text) {
                None => HeartbeatRun::Empty,
                Some(text) => self.turn(text, bounds, halt).await,
            },
        };
        match &beat {
            HeartbeatRun::Created => self.log.info(&format!("there was no {FILE}; its template was written")),
            HeartbeatRun::Empty => self.log.info(&format!("nothing is on {FILE}")),
            HeartbeatRun::NothingToDo => self.log.info("Heartbeat OK"),
            HeartbeatRun::Answered(answer) => self.log.info(&format!("Heartbeat completed: {answer}")),
            HeartbeatRun::Failed(why) => self.log.error(&format!("Heartbeat failed: {why}")),
        }
        beat
    }

    async fn turn(&self, text: &str, bounds: Vec<AgentId>, halt: &CancelToken) -> HeartbeatRun {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        let subject = Subject::root(Origin::Heartbeat, self.agent.clone(), "heartbeat").bounded_by(bounds);
        let events = |event: Event| (self.events)(&subject, event);
        let steering = Steering::new();
        let turn = Turn {
            subject: subject.clone(),
            input: prompt(&now, text),
            model: None,
            events: &events,
            steering: &steering,
            halt,
        };
        match self.runner.run_ephemeral(turn).await {
            Ok(outcome) if outcome.answer.trim() == NOTHING_TO_DO => HeartbeatRun::NothingToDo,
            Ok(outcome) => HeartbeatRun::Answered(outcome.answer),
            Err(why) => HeartbeatRun::Failed(why.to_string()),
        }
    }
}

impl TaskList {
    /// Reads the file; `None` when there was none, and its template was written.
    fn read(&self) -> Result<Option<String>, RootError> {
        match self.reader.read(FILE, MAX_FILE_BYTES)? {
            Some(file) => Ok(Some(file.text)),
            None => self.reader.create(FILE, TEMPLATE, &self.write_context).map(|_| None),
        }
    }
}
