//! The hooks of one turn: asked about its calls and its model, told what happens in it.

use super::{Advice, HookEvent, Hooks, LlmAdvice, Meta, Said};
use crate::call::Reply;
use crate::providers::{Answer, Request};
use picoclaw_policy::Subject;
use picoclaw_sandbox::ledger::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
    Answered(Reply),
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
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let turn = format!("turn-{}-{number}", std::process::id());
        Self { hooks, meta: Meta { subject: subject.clone(), turn, parent, round: 0 } }
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
    pub(crate) fn are_told(&self) -> bool {
        self.hooks.are_told()
    }

    /// Tells observers of an event.
    pub(crate) fn tell(&self, event: &HookEvent) {
        if self.are_told() {
            self.hooks.tell(event, &Timestamp::now().to_string(), &self.meta);
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
        let meta = self.at(round);
        let (tool, arguments, reply) = match self.hooks.before_tool(&meta, tool, &arguments).await {
            Advice::Proceed { tool, arguments } => (tool, arguments, None),
            Advice::Respond { tool, arguments, said } => (tool, arguments, Some(to_reply(said))),
            Advice::Deny(why) => {
                return Ok(HookOutcome::Denied(format!("Tool execution denied by hook: {why}")));
            }
            Advice::AbortTurn(why) => return Err(HookAbort::Abort(why)),
            Advice::HardAbort(why) => return Err(HookAbort::HardAbort(why)),
        };
        if let Err(why) = self.hooks.approve_tool(&meta, &tool, &arguments).await {
            return Ok(HookOutcome::Denied(format!("Tool execution denied by approval hook: {why}")));
        }
        Ok(match reply {
            None => HookOutcome::Proceed { tool, arguments },
            Some(reply) => HookOutcome::Answered(reply),
        })
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
        if !self.hooks.are_asked("after_tool") {
            return Ok(reply);
        }
        let before = Said { text: reply.text(), is_error: !matches!(reply, Reply::Done(_)) };
        let advice = self.hooks.after_tool(&self.at(round), tool, arguments, before.clone(), took).await;
        let after = proceed(advice)?;
        if after == before {
            return Ok(reply);
        }
        // A failure stays one, whatever a hook makes of its text.
        Ok(to_reply(Said { is_error: after.is_error || before.is_error, ..after }))
    }

    /// The request for the model; `None` when the hooks leave it as it is.
    pub(crate) async fn before_llm(
        &self,
        round: u64,
        model: &str,
        request: &Request,
    ) -> Result<Option<Request>, HookAbort> {
        self.tell(&HookEvent {
            kind: "agent.llm.request",
            severity: "info",
            payload: json!({"model": model, "messages": request.messages.len()}),
        });
        if !self.hooks.are_asked("before_llm") {
            return Ok(None);
        }
        proceed(self.hooks.before_llm(&self.at(round), model, request.clone()).await).map(Some)
    }

    /// The model's answer, as the hooks leave it.
    pub(crate) async fn after_llm(
        &self,
        round: u64,
        model: &str,
        answer: Answer,
    ) -> Result<Answer, HookAbort> {
        self.tell(&HookEvent {
            kind: "agent.llm.response",
            severity: "info",
            payload: json!({"model": model, "tool_calls": answer.tool_calls.len()}),
        });
        if !self.hooks.are_asked("after_llm") {
            return Ok(answer);
        }
        proceed(self.hooks.after_llm(&self.at(round), model, answer).await)
    }

    fn at(&self, round: u64) -> Meta {
        Meta { round, ..self.meta.clone() }
    }
}

impl HookEvent {
    /// A tool call starts.
    pub(crate) fn tool_start(id: &str, tool: &str, arguments: &Value) -> Self {
        let payload = json!({"id": id, "tool": tool, "arguments": arguments});
        Self { kind: "agent.tool.exec_start", severity: "info", payload }
    }

    /// A tool call ended.
    pub(crate) fn tool_end(id: &str, tool: &str, reply: &Reply, took: Duration) -> Self {
        let is_error = !matches!(reply, Reply::Done(_));
        let duration = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let payload = json!({"id": id, "tool": tool, "is_error": is_error, "duration": duration});
        Self { kind: "agent.tool.exec_end", severity: if is_error { "warn" } else { "info" }, payload }
    }
}

fn to_reply(said: Said) -> Reply {
    if said.is_error { Reply::Failed(said.text) } else { Reply::Done(said.text) }
}

fn proceed<T>(advice: LlmAdvice<T>) -> Result<T, HookAbort> {
    match advice {
        LlmAdvice::Proceed(value) => Ok(value),
        LlmAdvice::AbortTurn(why) => Err(HookAbort::Abort(why)),
        LlmAdvice::HardAbort(why) => Err(HookAbort::HardAbort(why)),
    }
}
