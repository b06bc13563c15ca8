//! The interception points of a turn. `before_tool` and `approve_tool` fail closed; at the others a
//! hook that fails is skipped.

use super::Hooks;
use super::decision::{Decision, HookReply, Meta, ToolDecision, keep_system_messages};
use super::error::HookError;
use super::process::HookProcess;
use crate::call::Reply;
use crate::message::Message;
use crate::providers::{Answer, Request, ToolSpec};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Characters of a reason that are kept.
const MAX_REASON: usize = 500;

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
            Decision::Proceed(changed) => Decision::Proceed(match changed {
                changed if changed == original => reply,
                // A failure stays one, whatever a hook makes of its text.
                changed if changed.is_error || original.is_error => Reply::Failed(changed.text),
                changed => Reply::Done(changed.text),
            }),
            Decision::AbortTurn(why) => Decision::AbortTurn(why),
            Decision::HardAbort(why) => Decision::HardAbort(why),
        }
    }

    /// Before a call is judged: it may be changed, answered or denied, or the turn ended.
    pub async fn before_tool(&self, meta: &Meta, tool: &str, arguments: &Value) -> ToolDecision {
        let (mut tool, mut arguments) = (tool.to_owned(), arguments.clone());
        for process in self.interceptors("before_tool") {
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "tool": tool, "arguments": arguments});
            let result = process.request("hook.before_tool", &params, self.interceptor_timeout).await;
            match result.and_then(|result| ToolAction::parse(process, &result)) {
                Err(why) => return ToolDecision::Deny(why.to_string()),
                Ok(ToolAction::Continue) => {}
                Ok(ToolAction::Modify { tool: new_tool, arguments: new_arguments }) => {
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
                    return Err(format!("tool approval hook {name:?} timed out"));
                }
                Err(why) => return Err(format!("tool approval hook {:?} failed: {why}", process.name())),
                Ok(result) if result.get("approved") == Some(&Value::Bool(true)) => {}
                Ok(result) => return Err(reason(&result, "not approved")),
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
    ) -> Decision<HookReply> {
        for process in self.interceptors("after_tool") {
            let result = json!({"for_llm": reply.text, "is_error": reply.is_error});
            let duration = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "tool": tool,
                "arguments": arguments, "result": result, "duration": duration});
            match self.intercept(process, "hook.after_tool", &params).await {
                Intercepted::Modify(changed) => {
                    reply = changed.get("result").and_then(parse_reply).unwrap_or(reply);
                }
                Intercepted::Continue => {}
                Intercepted::AbortTurn(why) => return Decision::AbortTurn(why),
                Intercepted::HardAbort(why) => return Decision::HardAbort(why),
            }
        }
        Decision::Proceed(reply)
    }

    /// Before the model is called: messages but the instructions may be changed, tools removed.
    pub async fn before_llm(&self, meta: &Meta, model: &str, mut request: Request) -> Decision<Request> {
        for process in self.interceptors("before_llm") {
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "model": model,
                "messages": request.messages, "tools": tools_json(&request.tools),
                "options": {"max_tokens": request.max_tokens, "temperature": request.temperature},
                "graceful_terminal": false});
            match self.intercept(process, "hook.before_llm", &params).await {
                Intercepted::Modify(changed) => apply_request_changes(&mut request, &changed, process),
                Intercepted::Continue => {}
                Intercepted::AbortTurn(why) => return Decision::AbortTurn(why),
                Intercepted::HardAbort(why) => return Decision::HardAbort(why),
            }
        }
        Decision::Proceed(request)
    }

    /// After the model answered: its text may be changed, its calls removed.
    pub async fn after_llm(&self, meta: &Meta, model: &str, mut answer: Answer) -> Decision<Answer> {
        for process in self.interceptors("after_llm") {
            let response = json!({"content": answer.content, "tool_calls": answer.tool_calls});
            let params = json!({"meta": meta.to_json(), "context": meta.context(), "model": model, "response": response});
            match self.intercept(process, "hook.after_llm", &params).await {
                Intercepted::Modify(changed) => {
                    let response = changed.get("response").unwrap_or(&Value::Null);
                    if let Some(content) = response.get("content").and_then(Value::as_str) {
                        answer.content = content.to_owned();
                    }
                    if let Some(calls) = response.get("tool_calls").and_then(Value::as_array) {
                        let kept = |id: &str| calls.iter().any(|call| call["id"].as_str() == Some(id));
                        answer.tool_calls.retain(|call| kept(&call.id));
                    }
                }
                Intercepted::Continue => {}
                Intercepted::AbortTurn(why) => return Decision::AbortTurn(why),
                Intercepted::HardAbort(why) => return Decision::HardAbort(why),
            }
        }
        Decision::Proceed(answer)
    }

    async fn intercept(&self, process: &HookProcess, method: &str, params: &Value) -> Intercepted {
        match process.request(method, params, self.interceptor_timeout).await {
            Err(why) => {
                tracing::warn!(target: "hook", error = %why, method, "A hook was not heard; the turn goes on without it");
                Intercepted::Continue
            }
            Ok(result) => match action(&result) {
                Some("modify") => Intercepted::Modify(result),
                Some("abort_turn") => Intercepted::AbortTurn(reason(&result, "hook requested turn abort")),
                Some("hard_abort") => Intercepted::HardAbort(reason(&result, "hook requested turn abort")),
                Some("continue") | None => Intercepted::Continue,
                Some(other) => {
                    tracing::warn!(target: "hook", hook = %process.name(), action = other, method, "An action that means nothing here");
                    Intercepted::Continue
                }
            },
        }
    }
}

/// The action of a hook that may be skipped.
enum Intercepted {
    Modify(Value),
    Continue,
    AbortTurn(String),
    HardAbort(String),
}

/// The action of a `before_tool` hook.
enum ToolAction {
    Continue,
    Modify { tool: Option<String>, arguments: Option<Value> },
    Respond(HookReply),
    Deny(String),
    AbortTurn(String),
    HardAbort(String),
}

impl ToolAction {
    fn parse(process: &HookProcess, result: &Value) -> Result<Self, HookError> {
        let invalid =
            |what: &str| HookError::Garbage { name: process.name().to_owned(), what: what.to_owned() };
        match action(result) {
            Some("continue") => Ok(Self::Continue),
            Some("modify") => {
                let call = result
                    .get("call")
                    .and_then(Value::as_object)
                    .ok_or_else(|| invalid("`modify` without `call`"))?;
                let tool = match call.get("tool") {
                    None | Some(Value::Null) => None,
                    Some(Value::String(tool)) => Some(tool.clone()),
                    Some(_) => return Err(invalid("`call.tool` is no text")),
                };
                let arguments = match call.get("arguments") {
                    None | Some(Value::Null) => None,
                    Some(arguments @ Value::Object(_)) => Some(arguments.clone()),
                    Some(_) => return Err(invalid("`call.arguments` is no object")),
                };
                Ok(Self::Modify { tool, arguments })
            }
            Some("respond") => result
                .get("result")
                .and_then(parse_reply)
                .map(Self::Respond)
                .ok_or_else(|| invalid("`respond` without `result.for_llm`")),
            Some("deny_tool") => Ok(Self::Deny(reason(result, "denied"))),
            Some("abort_turn") => Ok(Self::AbortTurn(reason(result, "hook requested turn abort"))),
            Some("hard_abort") => Ok(Self::HardAbort(reason(result, "hook requested turn abort"))),
            Some(_) => Err(invalid("an action that does not exist")),
            None => Err(invalid("no `action`")),
        }
    }
}

fn action(result: &Value) -> Option<&str> {
    result.get("action").and_then(Value::as_str)
}

fn reason(result: &Value, default: &str) -> String {
    let given = result.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
    given.unwrap_or(default).chars().take(MAX_REASON).collect()
}

fn parse_reply(result: &Value) -> Option<HookReply> {
    let text = result.get("for_llm")?.as_str()?.to_owned();
    let is_error = result.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    Some(HookReply { text, is_error })
}

fn tools_json(tools: &[ToolSpec]) -> Vec<Value> {
    let tool_json = |tool: &ToolSpec| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}});
    tools.iter().map(tool_json).collect()
}

/// Applies what a hook may change: messages but the instructions, and fewer tools.
fn apply_request_changes(request: &mut Request, result: &Value, process: &HookProcess) {
    let empty = Map::new();
    let changed = result.get("request").and_then(Value::as_object).unwrap_or(&empty);
    if let Some(messages) = changed.get("messages") {
        match serde_json::from_value::<Vec<Message>>(messages.clone()) {
            Ok(messages) => request.messages = keep_system_messages(&request.messages, messages),
            Err(why) => {
                tracing::warn!(target: "hook", hook = %process.name(), error = %why, "Messages that nobody can read")
            }
        }
    }
    if let Some(kept) = changed.get("tools").and_then(Value::as_array) {
        let name =
            |tool: &Value| tool["function"]["name"].as_str().or(tool["name"].as_str()).map(str::to_owned);
        let names: Vec<String> = kept.iter().filter_map(name).collect();
        request.tools.retain(|tool| names.contains(&tool.name));
    }
}
