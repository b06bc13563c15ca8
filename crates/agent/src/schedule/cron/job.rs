//! One job, as it is kept: the fields that others know, and those of ours.
//!
//! Invariant: a field that we do not know is kept as it is.

use super::schedule::Schedule;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// 16 hexadecimal digits.
    pub id: String,
    /// What a person calls it.
    pub name: String,
    /// Whether it runs.
    pub enabled: bool,
    /// The agent that it belongs to.
    #[serde(default = "main")]
    pub agent: String,
    /// When.
    pub schedule: Schedule,
    /// What.
    pub payload: Payload,
    /// How it stands.
    #[serde(default)]
    pub state: State,
    /// When it was made.
    #[serde(default)]
    pub created_at_ms: i64,
    /// When somebody changed it last.
    #[serde(default)]
    pub updated_at_ms: i64,
    /// Whether it goes when it has run.
    #[serde(default)]
    pub delete_after_run: bool,
    /// What we do not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What a job does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// `agent_turn`.
    #[serde(default = "agent_turn")]
    pub kind: String,
    /// What the agent is told.
    #[serde(default)]
    pub message: String,
    /// What is run in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What we do not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How a job stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// When it runs next.
    pub next_run_at_ms: Option<i64>,
    /// When it began to run last.
    pub last_run_at_ms: Option<i64>,
    /// What came of it.
    pub last_status: Option<LastStatus>,
    /// Why it was not `ok`.
    pub last_error: Option<String>,
    /// Since when it runs; still there after a kill, when nobody holds its lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_since_ms: Option<i64>,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LastStatus {
    /// It was done.
    Ok,
    /// It failed, or was interrupted, or never had its turn.
    Error,
    /// The desk, or a person, said no.
    Refused,
}

/// What a job does, as one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// The agent is told this.
    Message(String),
    /// This is run.
    Command(String),
}

impl LastStatus {
    /// The spelling in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
        }
    }
}

impl Job {
    /// What it does.
    pub fn task(&self) -> Task {
        match self.payload.command.as_deref().filter(|command| !command.is_empty()) {
            Some(command) => Task::Command(command.to_owned()),
            None => Task::Message(self.payload.message.clone()),
        }
    }
}

impl Payload {
    /// Of a task.
    pub fn of(task: Task) -> Self {
        let (message, command) = match task {
            Task::Message(message) => (message, None),
            Task::Command(command) => (String::new(), Some(command)),
        };
        Self { kind: agent_turn(), message, command, rest: Map::new() }
    }
}

fn main() -> String {
    "main".to_owned()
}

fn agent_turn() -> String {
    "agent_turn".to_owned()
}
