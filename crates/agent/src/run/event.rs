//! What a turn tells whoever watches it.
//!
//! Invariant: events are told in the order in which things happened, secrets filtered.

use crate::call::Reply;
use crate::spawn::Subturn;
use picoclaw_policy::Question;
use picoclaw_sandbox::permit::Approval;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::oneshot;

/// One thing that happened in a turn.
#[derive(Debug)]
pub enum Event {
    /// A piece of the answer, while it comes.
    Text(String),
    /// A model asked for a tool, and it starts now.
    ToolCall {
        /// The model's name for the call.
        id: String,
        /// The tool.
        tool: String,
        /// What it was given.
        arguments: Value,
    },
    /// A line of a tool's output, while it runs.
    ToolOutput {
        /// The call.
        id: String,
        /// The line.
        line: String,
    },
    /// A tool is done.
    ToolResult {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// What it came to.
        reply: Reply,
        /// How long it took.
        took: Duration,
    },
    /// A person must be asked; dropping it means that nobody can be.
    Ask(Ask),
    /// The model failed and is asked again, or another one is.
    Retry {
        /// What went wrong.
        why: String,
        /// How long it waits.
        wait: Duration,
    },
    /// The conversation grew too long, and its oldest part went.
    Compacted {
        /// How many messages went.
        dropped: usize,
    },
    /// Something the person should know.
    Notice(String),
    /// The model has said something, and the turn goes on: it waits for its subagents.
    Said(String),
    /// Something about a subagent.
    Subturn(Subturn),
}

/// A question on its way to a person.
#[derive(Debug)]
pub struct Ask {
    /// The tool that asks.
    pub tool: String,
    /// What, why, and the exact content.
    pub question: Question,
    /// The hash of what is shown.
    pub fingerprint: String,
    /// Where the answer goes, with who gave it.
    pub answer: oneshot::Sender<(Approval, String)>,
}
