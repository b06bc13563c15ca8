//! The hooks at one turn's side: asked at its moments, told what happens in it.
//!
//! Invariant: without hooks a turn costs nothing more; with them, every call passes them before the desk.

use super::event::Event;
use super::turn::TurnError;
use crate::call::Reply;
use crate::hooks::{Decision, HookEvent, HookReply, Hooks, Meta, ToolDecision};
use crate::providers::{Answer, Request};
use crate::spawn::{Subturn, Turning};
use picoclaw_policy::Subject;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Hooks for one turn.
pub(super) struct Escort {
    hooks: Arc<Hooks>,
    meta: Meta,
}

/// What the hooks make of a call.
pub(super) enum Passage {
    /// On to the desk, as it stands now.
    On { tool: String, arguments: Value },
    /// A hook answered in its place, and every approver agreed.
    Answered(HookReply),
    /// No: the sentence for the model.
    Denied(String),
}

impl Escort {
    pub(super) fn new(hooks: Arc<Hooks>, subject: &Subject, parent: Option<String>) -> Self {
        Self { hooks, meta: Meta::new(subject, parent) }
    }

    /// The turn's name among hooks.
    pub(super) fn turn(&self) -> &str {
        &self.meta.turn
    }

    fn at(&self, round: u64) -> Meta {
        Meta { round, ..self.meta.clone() }
    }

    /// Asks the hooks about a call: first those who may change it, then those who must agree.
    pub(super) async fn pass(&self, round: u64, tool: &str, arguments: Value) -> Result<Passage, TurnError> {
        if self.hooks.is_empty() {
            return Ok(Passage::On { tool: tool.to_owned(), arguments });
        }
        match self.hooks.check_call(&self.at(round), tool, &arguments).await {
            ToolDecision::Proceed { tool, arguments } => Ok(Passage::On { tool, arguments }),
            ToolDecision::Respond { reply, .. } => Ok(Passage::Answered(reply)),
            ToolDecision::Deny(sentence) => Ok(Passage::Denied(sentence)),
            ToolDecision::AbortTurn(why) => Err(TurnError::Aborted(why)),
            ToolDecision::HardAbort(why) => Err(TurnError::Undone(why)),
        }
    }

    /// Shows a result to the hooks; what the model will be told of it.
    pub(super) async fn show(
        &self,
        round: u64,
        tool: &str,
        arguments: &Value,
        reply: Reply,
        took: Duration,
    ) -> Result<Reply, TurnError> {
        match self.hooks.review_reply(&self.at(round), tool, arguments, reply, took).await {
            Decision::Proceed(reply) => Ok(reply),
            Decision::AbortTurn(why) => Err(TurnError::Aborted(why)),
            Decision::HardAbort(why) => Err(TurnError::Undone(why)),
        }
    }

    /// What the model is asked; nothing when the hooks leave it as it is.
    pub(super) async fn before_llm(
        &self,
        round: u64,
        model: &str,
        request: &Request,
    ) -> Result<Option<Request>, TurnError> {
        self.tell("agent.llm.request", "info", json!({"model": model, "messages": request.messages.len()}));
        if !self.hooks.has_interceptors("before_llm") {
            return Ok(None);
        }
        match self.hooks.before_llm(&self.at(round), model, request.clone()).await {
            Decision::Proceed(request) => Ok(Some(request)),
            Decision::AbortTurn(why) => Err(TurnError::Aborted(why)),
            Decision::HardAbort(why) => Err(TurnError::Undone(why)),
        }
    }

    /// What the model said, as far as the hooks let it.
    pub(super) async fn after_llm(
        &self,
        round: u64,
        model: &str,
        answer: Answer,
    ) -> Result<Answer, TurnError> {
        let calls = answer.tool_calls.len();
        self.tell("agent.llm.response", "info", json!({"model": model, "tool_calls": calls}));
        if !self.hooks.has_interceptors("after_llm") {
            return Ok(answer);
        }
        match self.hooks.after_llm(&self.at(round), model, answer).await {
            Decision::Proceed(answer) => Ok(answer),
            Decision::AbortTurn(why) => Err(TurnError::Aborted(why)),
            Decision::HardAbort(why) => Err(TurnError::Undone(why)),
        }
    }

    /// Tells observers of something.
    pub(super) fn tell(&self, kind: &'static str, severity: &'static str, payload: Value) {
        if self.hooks.has_observers() {
            self.hooks.notify(&HookEvent { kind, severity, payload }, &self.meta);
        }
    }

    /// Tells observers what everybody else hears.
    pub(super) fn tell_event(&self, event: &Event) {
        if !self.hooks.has_observers() {
            return;
        }
        let (kind, severity, payload) = match event {
            Event::Text(piece) => ("agent.llm.delta", "info", json!({"text": piece})),
            Event::ToolCall { id, tool, arguments } => {
                return self.hooks.notify(&HookEvent::tool_started(id, tool, arguments), &self.meta);
            }
            Event::ToolResult { id, tool, reply, took } => {
                return self.hooks.notify(&HookEvent::tool_finished(id, tool, reply, *took), &self.meta);
            }
            Event::Retry { why, .. } => ("agent.llm.retry", "warn", json!({"error": why})),
            Event::Compacted { dropped } => ("agent.context.compress", "info", json!({"dropped": dropped})),
            // What happens further down is told by the turn above it.
            Event::Subturn(Subturn { who, what }) if who.depth == self.meta.subject.depth + 1 => {
                let mut payload = json!({"id": who.id, "label": who.label, "agent": who.agent.as_str(), "depth": who.depth});
                match what {
                    Turning::Began { task } => {
                        payload["task"] = task.as_str().into();
                        ("agent.subturn.spawn", "info", payload)
                    }
                    Turning::Ended { result, took } => {
                        payload["is_error"] = result.is_err().into();
                        payload["duration"] = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).into();
                        ("agent.subturn.end", if result.is_err() { "warn" } else { "info" }, payload)
                    }
                    Turning::Delivered => ("agent.subturn.result_delivered", "info", payload),
                    Turning::Event(_) => return,
                }
            }
            _ => return,
        };
        self.tell(kind, severity, payload);
    }
}
