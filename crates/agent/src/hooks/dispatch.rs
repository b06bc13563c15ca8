//! The interception points of a turn. All of them fail closed: a hook that does not answer, or
//! whose answer cannot be understood, refuses the call, withholds its result or ends the turn.
//!
//! An answer has the form of the original program, in which a changed result and a changed response
//! lie within the object that the hook was sent (`result.result.for_llm`,
//! `response.response.content`), or has them in its place (`result.for_llm`, `response.content`).

use super::Hooks;
use super::answer::{Action, HookAnswer, MAX_REASON, ToolAction};
use super::decision::{Decision, HookReply, Meta, ToolDecision};
use super::error::HookError;
use super::process::HookProcess;
use crate::call::Reply;
use crate::providers::{Answer, Request, ToolSpec};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Hooks {
    fn interceptors(&self, point: &'static str) -> impl Iterator<Item = &Arc<HookProcess>> {
        self.processes.iter().filter(move |process| process.intercepts(point))
    }

    /// Whether any hook intercepts there.
    pub(crate) fn has_interceptors(&self, point: &'static str) -> bool {
        self.interceptors(point).next().is_some()
    }

    /// `before_tool` and then `approve_tool`. A denial is the sentence for the model.
    pub async fn check_call(&self, meta: &Meta, tool: &str, arguments: &Value) -> ToolDecision {
        let decision = self.before_tool(meta, tool, arguments).await;
        let (tool, arguments) = match &decision {
            ToolDecision::Proceed { tool, arguments } | ToolDecision::Respond { tool, arguments, .. } => {
                (tool, arguments)
            }
            ToolDecision::Deny(why) => {
                return ToolDecision::Deny(format!("Tool execution denied by hook: {why}"));
            }
            ToolDecision::AbortTurn(_) | ToolDecision::HardAbort(_) => return decision,
        };
        match self.approve_tool(meta, tool, arguments).await {
            Ok(()) => decision,
            Err(why) => ToolDecision::Deny(format!("Tool execution denied by approval hook: {why}")),
        }
    }

    /// `after_tool`: the reply that the model receives.
    pub async fn review_reply(
        &self,
        meta: &Meta,
        tool: &str,
        arguments: &Value,
        reply: Reply,
        took: Duration,
    ) -> Decision<Reply> {
        if !self.has_interceptors("after_tool") {
            return Decision::Proceed(reply);
        }
        let original = HookReply { text: reply.text(), is_error: !matches!(reply, Reply::Done(_)) };
        match self.after_tool(meta, tool, arguments, original.clone(), took).await {
            Err(why) => {
                tracing::warn!(target: "hook", tool, error = %why, "A result is withheld");
                Decision::Proceed(Reply::Failed(format!("Tool result withheld: {why}")))
            }
            Ok(Decision::Proceed(changed)) => Decision::Proceed(match changed {
                changed if changed == original => reply,
                // A failure stays one, whatever a hook makes of its text.
                changed if changed.is_error || original.is_error => Reply::Failed(changed.text),
                changed => Reply::Done(changed.text),
            }),
            Ok(Decision::AbortTurn(why)) => Decision::AbortTurn(why),
            Ok(Decision::HardAbort(why)) => Decision::HardAbort(why),
        }
    }

    /// Before a call is judged: it may be changed, answered or denied, or the turn ended.
    pub async fn before_tool(&self, meta: &Meta, tool: &str, arguments: &Value) -> ToolDecision {
        let (mut tool, mut arguments) = (tool.to_owned(), arguments.clone());
        for process in self.interceptors("before_tool") {
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "tool": tool, "arguments": arguments});
            let result = process.request("hook.before_tool", &params, self.interceptor_timeout).await;
            match result.and_then(|result| HookAnswer::new(process, result)?.tool_action()) {
                Err(why) => {
                    tracing::warn!(target: "hook", tool, error = %why, "A call is denied");
                    return ToolDecision::Deny(why.to_string());
                }
                Ok(ToolAction::Proceed { tool: new_tool, arguments: new_arguments }) => {
                    tool = new_tool.unwrap_or(tool);
                    arguments = new_arguments.unwrap_or(arguments);
                }
                Ok(ToolAction::Respond(reply)) => return ToolDecision::Respond { tool, arguments, reply },
                Ok(ToolAction::Deny(why)) => return ToolDecision::Deny(why),
                Ok(ToolAction::AbortTurn(why)) => return ToolDecision::AbortTurn(why),
                Ok(ToolAction::HardAbort(why)) => return ToolDecision::HardAbort(why),
            }
        }
        ToolDecision::Proceed { tool, arguments }
    }

    /// Whether a call may run: every approver must answer `true`.
    pub async fn approve_tool(&self, meta: &Meta, tool: &str, arguments: &Value) -> Result<(), String> {
        for process in self.interceptors("approve_tool") {
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "tool": tool, "arguments": arguments});
            match process.request("hook.approve_tool", &params, self.approval_timeout).await {
                Err(HookError::TimedOut { name, .. }) => {
                    tracing::warn!(target: "hook", hook = %name, tool, "An approval hook timed out; the call is denied");
                    return Err(format!("tool approval hook {name:?} timed out"));
                }
                Err(why) => {
                    tracing::warn!(target: "hook", tool, error = %why, "A call is denied");
                    return Err(format!("tool approval hook {:?} failed: {why}", process.name()));
                }
                Ok(result) if result.get("approved") == Some(&Value::Bool(true)) => {}
                Ok(result) => return Err(refusal(&result)),
            }
        }
        Ok(())
    }

    /// After a call: its result may be changed.
    pub async fn after_tool(
        &self,
        meta: &Meta,
        tool: &str,
        arguments: &Value,
        mut reply: HookReply,
        took: Duration,
    ) -> Result<Decision<HookReply>, HookError> {
        for process in self.interceptors("after_tool") {
            let result = json!({"for_llm": reply.text, "is_error": reply.is_error});
            let duration = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "tool": tool,
                "arguments": arguments, "result": result, "duration": duration});
            let answer = self.intercept(process, "hook.after_tool", &params).await?;
            match answer.action()? {
                Action::AbortTurn(why) => return Ok(Decision::AbortTurn(why)),
                Action::HardAbort(why) => return Ok(Decision::HardAbort(why)),
                Action::Proceed => reply = answer.reply("result")?.unwrap_or(reply),
                Action::Other(name) => return Err(answer.unknown_action(&name)),
            }
        }
        Ok(Decision::Proceed(reply))
    }

    /// Before the model is called: messages but the instructions may be changed, tools removed.
    pub async fn before_llm(
        &self,
        meta: &Meta,
        model: &str,
        mut request: Request,
    ) -> Result<Decision<Request>, HookError> {
        for process in self.interceptors("before_llm") {
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "model": model,
                "messages": request.messages, "tools": tools_json(&request.tools),
                "options": {"max_tokens": request.max_tokens, "temperature": request.temperature},
                "graceful_terminal": false});
            let answer = self.intercept(process, "hook.before_llm", &params).await?;
            match answer.action()? {
                Action::AbortTurn(why) => return Ok(Decision::AbortTurn(why)),
                Action::HardAbort(why) => return Ok(Decision::HardAbort(why)),
                Action::Proceed => answer.change_request(&mut request)?,
                Action::Other(name) => return Err(answer.unknown_action(&name)),
            }
        }
        Ok(Decision::Proceed(request))
    }

    /// After the model answered: its text and its calls may be changed.
    pub async fn after_llm(
        &self,
        meta: &Meta,
        model: &str,
        mut answer: Answer,
    ) -> Result<Decision<Answer>, HookError> {
        for process in self.interceptors("after_llm") {
            let response = json!({"content": answer.content, "tool_calls": answer.tool_calls});
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "model": model, "response": response});
            let said = self.intercept(process, "hook.after_llm", &params).await?;
            match said.action()? {
                Action::AbortTurn(why) => return Ok(Decision::AbortTurn(why)),
                Action::HardAbort(why) => return Ok(Decision::HardAbort(why)),
                Action::Proceed => said.change_answer(&mut answer)?,
                Action::Other(name) => return Err(said.unknown_action(&name)),
            }
        }
        Ok(Decision::Proceed(answer))
    }

    async fn intercept<'p>(
        &self,
        process: &'p HookProcess,
        method: &str,
        params: &Value,
    ) -> Result<HookAnswer<'p>, HookError> {
        let result = process.request(method, params, self.interceptor_timeout).await?;
        HookAnswer::new(process, result)
    }
}

/// Why an approver did not approve.
fn refusal(result: &Value) -> String {
    let reason = result.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
    reason.unwrap_or("not approved").chars().take(MAX_REASON).collect()
}

fn tools_json(tools: &[ToolSpec]) -> Vec<Value> {
    let tool_json = |tool: &ToolSpec| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}});
    tools.iter().map(tool_json).collect()
}
