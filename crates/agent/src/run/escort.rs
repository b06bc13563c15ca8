//! The hooks at one turn's side: asked at its moments, told what happens in it.
//!
//! Invariant: without hooks a turn costs nothing more; with them, every call passes them before the desk.

use super::event::Event;
use super::turn::TurnError;
use crate::call::Reply;
use crate::hooks::{Advice, HookEvent, Hooks, LlmAdvice, Meta, Said};
use crate::providers::{Answer, Request};
use crate::spawn::{Subturn, Turning};
use picoclaw_policy::Subject;
use picoclaw_sandbox::ledger::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
    Answered(Said),
    /// No: the sentence for the model.
    Denied(String),
}

impl Escort {
    pub(super) fn new(hooks: Arc<Hooks>, subject: &Subject, parent: Option<String>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let turn = format!("turn-{}-{number}", std::process::id());
        Self { hooks, meta: Meta { subject: subject.clone(), turn, parent, round: 0 } }
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
        let meta = self.at(round);
        let (tool, arguments, said) = match self.hooks.before_tool(&meta, tool, &arguments).await {
            Advice::Proceed { tool, arguments } => (tool, arguments, None),
            Advice::Respond { tool, arguments, said } => (tool, arguments, Some(said)),
            Advice::Deny(why) => return Ok(Passage::Denied(format!("Tool execution denied by hook: {why}"))),
            Advice::AbortTurn(why) => return Err(TurnError::Aborted(why)),
            Advice::HardAbort(why) => return Err(TurnError::Undone(why)),
        };
        if let Err(why) = self.hooks.approve_tool(&meta, &tool, &arguments).await {
            return Ok(Passage::Denied(format!("Tool execution denied by approval hook: {why}")));
        }
        Ok(match said {
            None => Passage::On { tool, arguments },
            Some(said) => Passage::Answered(said),
        })
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
        if !self.hooks.are_asked("after_tool") {
            return Ok(reply);
        }
        let before = Said { text: reply.text(), is_error: !matches!(reply, Reply::Done(_)) };
        match self.hooks.after_tool(&self.at(round), tool, arguments, before.clone(), took).await {
            LlmAdvice::Proceed(said) if said == before => Ok(reply),
            LlmAdvice::Proceed(said) if said.is_error => Ok(Reply::Failed(said.text)),
            // A failure stays one, whatever a hook makes of its text.
            LlmAdvice::Proceed(said) if before.is_error => Ok(Reply::Failed(said.text)),
            LlmAdvice::Proceed(said) => Ok(Reply::Done(said.text)),
            LlmAdvice::AbortTurn(why) => Err(TurnError::Aborted(why)),
            LlmAdvice::HardAbort(why) => Err(TurnError::Undone(why)),
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
        if !self.hooks.are_asked("before_llm") {
            return Ok(None);
        }
        match self.hooks.before_llm(&self.at(round), model, request.clone()).await {
            LlmAdvice::Proceed(request) => Ok(Some(request)),
            LlmAdvice::AbortTurn(why) => Err(TurnError::Aborted(why)),
            LlmAdvice::HardAbort(why) => Err(TurnError::Undone(why)),
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
        if !self.hooks.are_asked("after_llm") {
            return Ok(answer);
        }
        match self.hooks.after_llm(&self.at(round), model, answer).await {
            LlmAdvice::Proceed(answer) => Ok(answer),
            LlmAdvice::AbortTurn(why) => Err(TurnError::Aborted(why)),
            LlmAdvice::HardAbort(why) => Err(TurnError::Undone(why)),
        }
    }

    /// Tells observers of something.
    pub(super) fn tell(&self, kind: &'static str, severity: &'static str, payload: Value) {
        if self.hooks.are_told() {
            self.hooks.tell(
                &HookEvent { kind, severity, payload },
                &Timestamp::now().to_string(),
                &self.meta,
            );
        }
    }

    /// Tells observers what everybody else hears.
    pub(super) fn tell_event(&self, event: &Event) {
        if !self.hooks.are_told() {
            return;
        }
        let (kind, severity, payload) = match event {
            Event::Text(piece) => ("agent.llm.delta", "info", json!({"text": piece})),
            Event::ToolCall { id, tool, arguments } => {
                ("agent.tool.exec_start", "info", json!({"id": id, "tool": tool, "arguments": arguments}))
            }
            Event::ToolResult { id, tool, reply, took } => {
                let is_error = !matches!(reply, Reply::Done(_));
                let payload = json!({"id": id, "tool": tool, "is_error": is_error,
                    "duration": u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)});
                ("agent.tool.exec_end", if is_error { "warn" } else { "info" }, payload)
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
