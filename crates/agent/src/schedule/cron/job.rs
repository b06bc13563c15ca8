//! One job as it is stored. Unknown fields are kept.

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
    /// The agents above the one that made it: the job may do what all of them may do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<String>,
    /// When.
    pub schedule: Schedule,
    /// What.
    pub payload: Payload,
    /// Its state.
    #[serde(default)]
    pub state: JobState,
    /// When it was made.
    #[serde(default)]
    pub created_at_ms: i64,
    /// When it was changed last.
    #[serde(default)]
    pub updated_at_ms: i64,
    /// Whether it is removed after its run.
    #[serde(default)]
    pub delete_after_run: bool,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What a job does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// `agent_turn`.
    #[serde(default = "agent_turn")]
    pub kind: String,
    /// The message for the agent.
    #[serde(default)]
    pub message: String,
    /// A command in place of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The state of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobState {
    /// When it runs next.
    pub next_run_at_ms: Option<i64>,
    /// When it began to run last.
    pub last_run_at_ms: Option<i64>,
    /// The status of that run.
    pub last_status: Option<LastStatus>,
    /// Why it was not `ok`.
    pub last_error: Option<String>,
    /// Since when it runs. After a crash it is still set, and the lock is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_since_ms: Option<i64>,
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LastStatus {
    /// It succeeded.
    Ok,
    /// It failed, was interrupted or was missed.
    Error,
    /// The policy or a person refused it.
    Refused,
}

/// The task of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// A message for the agent.
    Message(String),
    /// A command.
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
    /// Its task.
    pub fn task(&self) -> Task {
        match self.payload.command.as_deref().filter(|command| !command.is_empty()) {
            Some(command) => Task::Command(command.to_owned()),
            None => Task::Message(self.payload.message.clone()),
        }
    }
}

impl Payload {
    /// The payload of a task.
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
