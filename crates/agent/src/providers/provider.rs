//! The trait of all providers, and its request and answer types.

use crate::message::{Message, ToolCall};
use serde::Deserialize;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Answers a conversation.
pub trait Provider: Send + Sync {
    /// The name of the model.
    fn model(&self) -> &str;

    /// Requests the next message. Dropping the future cancels the request.
    fn ask<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink) -> AnswerFuture<'a>;

    /// What answers.
    fn kind(&self) -> ProviderKind {
        ProviderKind::Model
    }

    /// Whether a failed request may be repeated.
    fn retryable(&self) -> Retryable {
        Retryable::Yes
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

/// Whether a failed request may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retryable {
    /// It has no side effects.
    Yes,
    /// It may have had side effects.
    No,
}

/// The future of an answer.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Answer, ProviderError>> + Send + 'a>>;

/// Receives the text of an answer as it streams.
pub trait Sink: Send {
    /// Takes the next piece.
    fn text(&mut self, piece: &str);
}

/// A sink that remembers whether any text went through it: then no second answer may begin.
pub(super) struct TrackingSink<'a> {
    sink: &'a mut dyn Sink,
    has_text: bool,
}

impl<'a> TrackingSink<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, has_text: false }
    }

    pub(super) fn has_text(&self) -> bool {
        self.has_text
    }
}

impl Sink for TrackingSink<'_> {
    fn text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.has_text = true;
            self.sink.text(piece);
        }
    }
}

/// A request to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The conversation, instructions first.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The longest answer, in tokens.
    pub max_tokens: u64,
    /// The sampling temperature; the provider's default when it is `None`.
    pub temperature: Option<f64>,
    /// The agent that asks.
    pub agent: picoclaw_policy::AgentId,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its JSON Schema.
    pub parameters: Value,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The text.
    pub content: String,
    /// The reasoning before it.
    pub reasoning: Option<String>,
    /// The tool calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// The tokens that it used.
    pub usage: Usage,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Finish {
    /// The answer is complete.
    #[default]
    Stop,
    /// It calls tools.
    ToolCalls,
    /// The answer reached its length limit.
    Length,
    /// Another reason, as the provider names it.
    Other(String),
}

/// The tokens of a request, as far as the provider reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
    /// The class, which decides about retries and fallbacks.
    pub class: ErrorClass,
    /// What happened, without secrets.
    pub message: String,
    /// The wait that the provider asks for.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// A failure of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None }
    }
}

/// The classes of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// 401, 403: the key is wrong.
    Auth,
    /// 402: the account has no credit.
    Billing,
    /// 429: too many requests.
    RateLimit,
    /// 408, 5xx, or no answer in time.
    Timeout,
    /// The connection failed.
    Network,
    /// 400: the request is not valid.
    Format,
    /// The conversation exceeds the context window.
    ContextOverflow,
    /// The response cannot be parsed.
    Malformed,
    /// Anything else.
    #[default]
    Unknown,
}
