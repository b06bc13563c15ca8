//! The one trait behind which every model stands.
//!
//! Invariant: an answer is whole; what a cut-off stream began is never handed on as a call.

use crate::message::{Message, ToolCall};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Something that answers a conversation.
pub trait Provider: Send + Sync {
    /// The model, as traces and sessions name it.
    fn model(&self) -> &str;

    /// Asks for the next message. Dropping the future gives the request up, and ends whatever serves it.
    fn ask<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink) -> Reading<'a>;

    /// What answers.
    fn kind(&self) -> ProviderKind {
        ProviderKind::Model
    }

    /// Whether a try that failed may be made again.
    fn again(&self) -> Again {
        Again::Freely
    }
}

/// What answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// A model: it understands what it is told about the conversation.
    Model,
    /// No model: the user's text is the call, and the tool's reply is the answer, to the byte.
    Direct,
}

/// Whether a try that failed may be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It only asked.
    Freely,
    /// It may have done things on its way.
    Never,
}

/// An answer on its way.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<Answer, ProviderError>> + Send + 'a>>;

/// Hears an answer while it comes.
pub trait Sink: Send {
    /// A piece of the text that a person may see.
    fn text(&mut self, piece: &str);
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The conversation, instructions first.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The most tokens of an answer.
    pub max_tokens: u64,
    /// How freely it may choose; the provider's own when nobody said.
    pub temperature: Option<f64>,
    /// On whose behalf: the working place of command-line providers is this agent's.
    pub agent: picoclaw_policy::AgentId,
}

/// A tool as a model is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its JSON Schema.
    pub parameters: Value,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The text.
    pub content: String,
    /// What it thought first.
    pub reasoning: Option<String>,
    /// The calls it wants made, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Finish {
    /// It was done.
    #[default]
    Stop,
    /// It wants tools to run.
    ToolCalls,
    /// Its answer grew too long and was cut.
    Length,
    /// Something else, as the provider calls it.
    Other(String),
}

/// Tokens in and out, as far as the provider says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure it is; decides about retries and fallbacks.
    pub class: Class,
    /// What happened, without secrets.
    pub message: String,
    /// When to come back, if the provider says.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// A failure of this kind.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None }
    }
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// 401, 403: the key is wrong.
    Auth,
    /// 402: there is no money.
    Billing,
    /// 429: too much at once.
    RateLimit,
    /// 408, 5xx and silence.
    Timeout,
    /// The connection.
    Network,
    /// 400: the request itself.
    Format,
    /// The conversation is too long for the model.
    ContextOverflow,
    /// What came back cannot be understood.
    Malformed,
    /// Anything else.
    Unknown,
}
