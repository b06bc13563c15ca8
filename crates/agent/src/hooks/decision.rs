//! What hooks are told about a turn, and what they can decide: to narrow, to change what is then
//! judged like any other call, or to stop.

use crate::call::Reply;
use crate::message::{Message, Role};
use picoclaw_policy::Subject;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where in a turn a hook is called.
#[derive(Debug, Clone)]
pub struct Meta {
    /// On whose behalf the turn runs.
    pub subject: Subject,
    /// The turn's id.
    pub turn: String,
    /// The id of the turn that started this one.
    pub parent: Option<String>,
    /// How often the model was called in this turn.
    pub round: u64,
}

impl Meta {
    /// For a new turn, with an id of its own.
    pub fn new(subject: &Subject, parent: Option<String>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let turn = format!("turn-{}-{number}", std::process::id());
        Self { subject: subject.clone(), turn, parent, round: 0 }
    }

    /// The `meta` member of the parameters.
    pub(super) fn to_json(&self) -> Value {
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

    /// The `context` member of the parameters, nested as in the original protocol.
    pub(super) fn context(&self) -> Value {
        json!({"inbound": {"channel": self.subject.origin.as_str(), "chat_id": self.subject.session}})
    }
}

/// What all hooks together decide about a call before it is judged.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolDecision {
    /// Judge and run it, possibly changed.
    Proceed {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// Do not run it; this is its result. Approval is still needed.
    Respond {
        /// The tool, possibly changed.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// The result.
        reply: HookReply,
    },
    /// Refuse it.
    Deny(String),
    /// End the turn.
    AbortTurn(String),
    /// End the turn and roll it back.
    HardAbort(String),
}

/// A result that a hook gives or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// The text for the model.
    pub text: String,
    /// Whether it is a failure.
    pub is_error: bool,
}

impl From<HookReply> for Reply {
    fn from(reply: HookReply) -> Self {
        if reply.is_error { Self::Failed(reply.text) } else { Self::Done(reply.text) }
    }
}

/// What all hooks together decide about a result, a model request or a model answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<T> {
    /// Continue with this.
    Proceed(T),
    /// End the turn.
    AbortTurn(String),
    /// End the turn and roll it back.
    HardAbort(String),
}

/// A hook's messages with the original system messages: hooks do not change instructions.
pub(super) fn keep_system_messages(original: &[Message], changed: Vec<Message>) -> Vec<Message> {
    let system = original.iter().filter(|message| message.role == Role::System).cloned();
    system.chain(changed.into_iter().filter(|message| message.role != Role::System)).collect()
}
