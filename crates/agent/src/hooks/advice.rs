//! What hooks are told about a moment, and what they can make of it.
//!
//! Invariant: the types say it: a hook narrows, changes what is judged anyway, or stops.

use crate::message::Message;
use picoclaw_policy::Subject;
use serde_json::{Value, json};

/// Where in a turn a hook is asked.
#[derive(Debug, Clone)]
pub struct Meta {
    /// On whose behalf the turn runs.
    pub subject: Subject,
    /// The turn.
    pub turn: String,
    /// The turn that started this one.
    pub parent: Option<String>,
    /// How many times the model was asked already.
    pub round: u64,
}

impl Meta {
    /// As it goes over the wire.
    pub(super) fn wire(&self) -> Value {
        json!({
            "AgentID": self.subject.agent.as_str(),
            "TurnID": self.turn,
            "ParentTurnID": self.parent.clone().unwrap_or_default(),
            "SessionKey": self.subject.session,
            "Iteration": self.round,
            "TracePath": "",
            "Source": self.subject.origin.as_str(),
        })
    }

    /// The circumstances, as the original nests them.
    pub(super) fn context(&self) -> Value {
        json!({"inbound": {"channel": self.subject.origin.as_str(), "chat_id": self.subject.session}})
    }
}

/// What the hooks together make of a call that is about to happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Advice {
    /// Let it be judged, perhaps changed.
    Proceed {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// Do not run it; this is the result. It still wants approval.
    Respond {
        /// The tool, as far as it was changed.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// The result.
        said: Said,
    },
    /// No.
    Deny(String),
    /// End the turn.
    AbortTurn(String),
    /// End the turn, as if it had not been.
    HardAbort(String),
}

/// A result that a hook gives or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The text for the model.
    pub text: String,
    /// Whether it is a failure.
    pub is_error: bool,
}

/// What the hooks together make of a question to the model, or of its answer.
#[derive(Debug, Clone, PartialEq)]
pub enum LlmAdvice<T> {
    /// Go on with this.
    Proceed(T),
    /// End the turn.
    AbortTurn(String),
    /// End the turn, as if it had not been.
    HardAbort(String),
}

/// The part of a conversation that a hook may change: everything but the instructions.
pub(super) fn with_own_system(ours: &[Message], theirs: Vec<Message>) -> Vec<Message> {
    use crate::message::Role;
    let system = ours.iter().filter(|message| message.role == Role::System).cloned();
    system.chain(theirs.into_iter().filter(|message| message.role != Role::System)).collect()
}
