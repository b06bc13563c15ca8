//! The events of a turn, in the order in which they happened, secrets filtered.

use crate::call::Reply;
use crate::hooks::HookEvent;
use picoclaw_policy::{AgentId, Question};
use picoclaw_sandbox::act::Act;
use picoclaw_sandbox::permit::Answer;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::oneshot;

/// One event of a turn.
#[derive(Debug)]
pub enum Event {
    /// A piece of the answer as it streams.
    Text(String),
    /// A tool call starts.
    ToolCall {
        /// The model's id of the call.
        id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A line of a tool's output, while it runs.
    ToolOutput {
        /// The call.
        id: String,
        /// The line.
        line: String,
    },
    /// A tool call ended.
    ToolResult {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// Its reply.
        reply: Reply,
        /// How long it took.
        took: Duration,
    },
    /// A call needs approval. Dropping the event means that no person can be asked.
    Ask(Ask),
    /// The model failed; it is asked again, or another one is.
    Retry {
        /// What went wrong.
        why: String,
        /// The wait before the next request.
        wait: Duration,
    },
    /// The conversation was too long, and its oldest messages were dropped.
    Compacted {
        /// How many messages.
        dropped: usize,
    },
    /// A notice for the user.
    Notice(String),
    /// The model has said something, and the turn goes on: it waits for its subagents.
    Said(String),
    /// An event of a subagent.
    Subagent {
        /// The subagent.
        info: SubagentInfo,
        /// The event.
        event: SubagentEvent,
    },
}

/// A question for a person.
#[derive(Debug)]
pub struct Ask {
    /// The tool.
    pub tool: String,
    /// The question, and its reason.
    pub question: Question,
    /// The whole act.
    pub act: Box<Act>,
    /// The digest of the act.
    pub fingerprint: String,
    /// Takes the answer.
    pub answer: oneshot::Sender<Answer>,
}

/// Identifies a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentInfo {
    /// Its id in this program: `subagent-3`.
    pub id: String,
    /// The label that its parent gave it; its id by default.
    pub label: String,
    /// The agent that it runs as.
    pub agent: AgentId,
    /// How many spawns lie between it and the user's turn.
    pub depth: u32,
}

/// One event of a subagent.
#[derive(Debug)]
pub enum SubagentEvent {
    /// It was started.
    Began {
        /// Its task.
        task: String,
    },
    /// An event of its turn.
    Event(Box<Event>),
    /// It has ended.
    Ended {
        /// Its answer, or why it has none.
        result: Result<String, String>,
        /// How long it took.
        took: Duration,
    },
    /// Its result was given to the model that started it.
    Delivered,
}

impl Event {
    /// The event as hooks observe it, for a turn at this depth; `None` when they do not.
    pub(super) fn hook_event(&self, depth: u32) -> Option<HookEvent> {
        let (kind, severity, payload) = match self {
            Self::Text(piece) => ("agent.llm.delta", "info", json!({"text": piece})),
            Self::ToolCall { id, tool, arguments } => {
                return Some(HookEvent::tool_started(id, tool, arguments));
            }
            Self::ToolResult { id, tool, reply, took } => {
                return Some(HookEvent::tool_finished(id, tool, reply, *took));
            }
            Self::Retry { why, .. } => ("agent.llm.retry", "warn", json!({"error": why})),
            Self::Compacted { dropped } => ("agent.context.compress", "info", json!({"dropped": dropped})),
            // Events of deeper subagents are observed in the turn that started them.
            Self::Subagent { info, event } if info.depth == depth + 1 => {
                let mut payload = json!({"id": info.id, "label": info.label, "agent": info.agent.as_str(), "depth": info.depth});
                match event {
                    SubagentEvent::Began { task } => {
                        payload["task"] = task.as_str().into();
                        ("agent.subturn.spawn", "info", payload)
                    }
                    SubagentEvent::Ended { result, took } => {
                        payload["is_error"] = result.is_err().into();
                        payload["duration"] = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).into();
                        ("agent.subturn.end", if result.is_err() { "warn" } else { "info" }, payload)
                    }
                    SubagentEvent::Delivered => ("agent.subturn.result_delivered", "info", payload),
                    SubagentEvent::Event(_) => return None,
                }
            }
            _ => return None,
        };
        Some(HookEvent { kind, severity, payload })
    }
}
