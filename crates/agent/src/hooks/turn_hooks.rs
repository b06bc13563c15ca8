//! The hooks of one turn: asked about its calls and its model, notified of what happens in it.

use super::{Decision, HookEvent, HookReply, Hooks, Meta, ToolDecision};
use crate::call::Reply;
use crate::providers::{Answer, Request};
use picoclaw_policy::Subject;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The hooks of one turn.
pub(crate) struct TurnHooks {
    hooks: Arc<Hooks>,
    meta: Meta,
}

/// What the hooks make of a call.
pub(crate) enum HookOutcome {
    /// It goes on to the policy, as it stands now.
    Proceed { tool: String, arguments: Value },
    /// A hook replied in its place, and every approver agreed.
    Answered(HookReply),
    /// Denied; the sentence is for the model.
    Denied(String),
}

/// A hook ended the turn.
#[derive(Debug, thiserror::Error)]
pub enum HookAbort {
    /// What happened so far stays in the session.
    #[error("the turn was ended by a hook: {0}")]
    Abort(String),
    /// The session is rolled back.
    #[error("the turn was undone by a hook: {0}")]
    HardAbort(String),
}

impl TurnHooks {
    /// The hooks of a turn of `subject`; `parent` is the id of the turn that started it.
    pub(crate) fn new(hooks: Arc<Hooks>, subject: &Subject, parent: Option<String>) -> Self {
        Self { hooks, meta: Meta::new(subject, parent) }
    }

    /// The id of the turn.
    pub(crate) fn turn_id(&self) -> &str {
        &self.meta.turn
    }

    /// The subject of the turn.
    pub(crate) fn subject(&self) -> &Subject {
        &self.meta.subject
    }

    /// Whether a hook observes events.
    pub(crate) fn has_observers(&self) -> bool {
        self.hooks.has_observers()
    }

    /// Whether a hook has to see the model's answers before anyone else does.
    pub(crate) fn review_answers(&self) -> bool {
        self.hooks.has_interceptors("after_llm")
    }

    /// Notifies the observers of an event.
    pub(crate) fn notify(&self, event: &HookEvent) {
        if self.has_observers() {
            self.hooks.notify(event, &self.meta);
        }
    }

    /// Asks the hooks about a call: first those that may change it, then those that must approve.
    pub(crate) async fn before_tool(
        &self,
        round: u64,
        tool: &str,
        arguments: Value,
    ) -> Result<HookOutcome, HookAbort> {
        if self.hooks.is_empty() {
            return Ok(HookOutcome::Proceed { tool: tool.to_owned(), arguments });
        }
        match self.hooks.check_call(&self.at(round), tool, &arguments).await {
            ToolDecision::Proceed { tool, arguments } => Ok(HookOutcome::Proceed { tool, arguments }),
            ToolDecision::Respond { reply, .. } => Ok(HookOutcome::Answered(reply)),
            ToolDecision::Deny(sentence) => Ok(HookOutcome::Denied(sentence)),
            ToolDecision::AbortTurn(why) => Err(HookAbort::Abort(why)),
            ToolDecision::HardAbort(why) => Err(HookAbort::HardAbort(why)),
        }
    }

    /// Shows a reply to the hooks; the result is what the model is told.
    pub(crate) async fn after_tool(
        &self,
        round: u64,
        tool: &str,
        arguments: &Value,
        reply: Reply,
        took: Duration,
    ) -> Result<Reply, HookAbort> {
        proceed(self.hooks.review_reply(&self.at(round), tool, arguments, reply, took).await)
    }

    /// The request for the model; `None` when the hooks leave it as it is.
    pub(crate) async fn before_llm(
        &self,
        round: u64,
        model: &str,
        request: &Request,
    ) -> Result<Option<Request>, HookAbort> {
        self.notify(&HookEvent {
            kind: "agent.llm.request",
            severity: "info",
            payload: json!({"model": model, "messages": request.messages.len()}),
        });
        if !self.hooks.has_interceptors("before_llm") {
            return Ok(None);
        }
        let decision = self.hooks.before_llm(&self.at(round), model, request.clone()).await;
        proceed(decision.map_err(|why| HookAbort::Abort(why.to_string()))?).map(Some)
    }

    /// The model's answer, as the hooks leave it.
    pub(crate) async fn after_llm(
        &self,
        round: u64,
        model: &str,
        answer: Answer,
    ) -> Result<Answer, HookAbort> {
        self.notify(&HookEvent {
            kind: "agent.llm.response",
            severity: "info",
            payload: json!({"model": model, "tool_calls": answer.tool_calls.len()}),
        });
        if !self.hooks.has_interceptors("after_llm") {
            return Ok(answer);
        }
        let decision = self.hooks.after_llm(&self.at(round), model, answer).await;
        proceed(decision.map_err(|why| HookAbort::Abort(why.to_string()))?)
    }

    fn at(&self, round: u64) -> Meta {
        Meta { round, ..self.meta.clone() }
    }
}

fn proceed<T>(decision: Decision<T>) -> Result<T, HookAbort> {
    match decision {
        Decision::Proceed(value) => Ok(value),
        Decision::AbortTurn(why) => Err(HookAbort::Abort(why)),
        Decision::HardAbort(why) => Err(HookAbort::HardAbort(why)),
    }
}
