//! One beat after the other.
//!
//! Invariant: a beat ends before the next one begins; what it may do is what its agent may do.

use super::chores::{TEMPLATE, chores, prompt};
use crate::run::{Event, Runner, Steering, Turn};
use crate::schedule::Diary;
use crate::schedule::cron::Hear;
use picoclaw_policy::config::Config;
use picoclaw_policy::{AgentId, Origin, Subject};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::root::{RootError, WriteContext};
use picoclaw_sandbox::state_dir::StateError;
use picoclaw_sandbox::workspace_reader::WorkspaceReader;
use std::sync::Arc;
use std::time::Duration;

const FILE: &str = "HEARTBEAT.md";

/// The most of the list that is read.
const MOST: usize = 32 << 10;

/// How long after the start the first beat comes.
const FIRST: Duration = Duration::from_secs(1);

/// The shortest time between two beats.
const SHORTEST: Duration = Duration::from_secs(5 * 60);

/// The answer of an agent that had nothing to do.
const NOTHING: &str = "HEARTBEAT_OK";

/// What one beat came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beat {
    /// There was no list; now there is one, with nothing on it.
    Planted,
    /// Nothing is on the list.
    Empty,
    /// The agent had nothing to do.
    Quiet,
    /// The agent did something, and said this.
    Said(String),
    /// It went wrong.
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
    interval: Duration,
    list: Arc<List>,
    diary: Diary,
    hear: Hear,
}

/// The list in the workspace.
struct List {
    reader: WorkspaceReader,
    scribe: WriteContext,
}

impl Heartbeat {
    /// The default agent's, `hear`ing what happens in its turns.
    pub fn open(
        runner: Runner,
        instance: &Instance,
        config: &Config,
        hear: Hear,
    ) -> Result<Self, HeartbeatError> {
        let agent = config.default_agent.clone();
        let zones = instance.zones().remove(&agent);
        let zones = zones.ok_or_else(|| HeartbeatError::NoWorkspace(agent.clone()))?;
        let list = List {
            reader: WorkspaceReader::for_agent(&zones)?,
            scribe: WriteContext::new(&instance.locks(), WriteContext::LOCK_TIMEOUT)?,
        };
        let interval =
            Duration::from_secs(config.heartbeat.interval_minutes.saturating_mul(60)).max(SHORTEST);
        let diary = Diary::open(instance.home(), "heartbeat.log")?;
        Ok(Self { runner, agent, interval, list: Arc::new(list), diary, hear })
    }

    /// Beats until `halt` is raised: the first time a second from now, and then at every interval.
    pub async fn run(&self, halt: &CancelToken) {
        let mut next = tokio::time::Instant::now() + FIRST;
        while !halt.is_cancelled() {
            tokio::select! {
                biased;
                () = halt.cancelled() => return,
                () = tokio::time::sleep_until(next) => {}
            }
            self.beat(halt).await;
            // From now on: a beat that took long delays the next one, and none is made up for.
            next = tokio::time::Instant::now() + self.interval;
        }
    }

    /// One beat, now.
    pub async fn beat(&self, halt: &CancelToken) -> Beat {
        let list = Arc::clone(&self.list);
        let read = tokio::task::spawn_blocking(move || list.read()).await;
        let beat = match read {
            Err(why) => Beat::Failed(why.to_string()),
            Ok(Err(why)) => Beat::Failed(format!("{FILE} cannot be read: {why}")),
            Ok(Ok(None)) => Beat::Planted,
            Ok(Ok(Some(text))) => match chores(&text) {
                None => Beat::Empty,
                Some(text) => self.turn(text, halt).await,
            },
        };
        match &beat {
            Beat::Planted => self.diary.info(&format!("there was no {FILE}; its template was written")),
            Beat::Empty => self.diary.info(&format!("nothing is on {FILE}")),
            Beat::Quiet => self.diary.info("Heartbeat OK"),
            Beat::Said(answer) => self.diary.info(&format!("Heartbeat completed: {answer}")),
            Beat::Failed(why) => self.diary.error(&format!("Heartbeat failed: {why}")),
        }
        beat
    }

    async fn turn(&self, text: &str, halt: &CancelToken) -> Beat {
        let now = Timestamp::now().to_string();
        let now =
            format!("{} {} UTC", now.get(..10).unwrap_or_default(), now.get(11..16).unwrap_or_default());
        let subject = Subject::root(Origin::Heartbeat, self.agent.clone(), "heartbeat");
        let events = |event: Event| (self.hear)(&subject, event);
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
            Ok(ending) if ending.answer.trim() == NOTHING => Beat::Quiet,
            Ok(ending) => Beat::Said(ending.answer),
            Err(why) => Beat::Failed(why.to_string()),
        }
    }
}

impl List {
    /// The list; `None` when there was none, and now there is an empty one.
    fn read(&self) -> Result<Option<String>, RootError> {
        match self.reader.read(FILE, MOST)? {
            Some(passage) => Ok(Some(passage.text)),
            None => self.reader.create(FILE, TEMPLATE, &self.scribe).map(|_| None),
        }
    }
}
