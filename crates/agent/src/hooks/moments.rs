//! The moments of a turn at which hooks are asked.
//!
//! Invariant: `before_tool` and `approve_tool` fail closed; the other moments go on without the hook that failed.

use super::advice::{Advice, LlmAdvice, Meta, Said, with_own_system};
use super::error::HookError;
use super::process::HookProcess;
use super::set::Hooks;
use crate::message::Message;
use crate::providers::{Answer, Request, ToolSpec};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Hooks {
    fn at(&self, moment: &'static str) -> impl Iterator<Item = &Arc<HookProcess>> {
        self.processes.iter().filter(move |process| process.intercepts(moment))
    }

    /// Whether anybody is to be asked then: a long conversation is not copied for nobody.
    pub(crate) fn are_asked(&self, moment: &'static str) -> bool {
        self.at(moment).next().is_some()
    }

    /// Before a call is judged: it may be changed, answered, denied, or end the turn.
    pub async fn before_tool(&self, meta: &Meta, tool: &str, arguments: &Value) -> Advice {
        let (mut tool, mut arguments) = (tool.to_owned(), arguments.clone());
        let mut response = None;
        for process in self.at("before_tool") {
            let params =
                json!({"meta": meta.wire(), "context": meta.context(), "tool": tool, "arguments": arguments});
            let answer = process.ask("hook.before_tool", &params, self.interceptor).await;
            match answer.and_then(|answer| judged(process, &answer)) {
                // A judge that cannot be asked has not said yes.
                Err(why) => return Advice::Deny(why.to_string()),
                Ok(Judged::Continue) => {}
                Ok(Judged::Modify { tool: changed, arguments: given }) => {
                    tool = changed.unwrap_or(tool);
                    arguments = given.unwrap_or(arguments);
                }
                Ok(Judged::Respond(said)) => {
                    response = Some(said);
                    break;
                }
                Ok(Judged::Deny(why)) => return Advice::Deny(why),
                Ok(Judged::Abort(why)) => return Advice::AbortTurn(why),
                Ok(Judged::HardAbort(why)) => return Advice::HardAbort(why),
            }
        }
        match response {
            None => Advice::Proceed { tool, arguments },
            Some(said) => Advice::Respond { tool, arguments, said },
        }
    }

    /// Whether a call may happen at all: every approver must say `true`.
    pub async fn approve_tool(&self, meta: &Meta, tool: &str, arguments: &Value) -> Result<(), String> {
        for process in self.at("approve_tool") {
            let params =
                json!({"meta": meta.wire(), "context": meta.context(), "tool": tool, "arguments": arguments});
            match process.ask("hook.approve_tool", &params, self.approval).await {
                Err(HookError::TimedOut { name, .. }) => {
                    return Err(format!("tool approval hook {name:?} timed out"));
                }
                Err(why) => return Err(format!("tool approval hook {:?} failed: {why}", process.name())),
                Ok(answer) if answer.get("approved") == Some(&Value::Bool(true)) => {}
                Ok(answer) => return Err(reason(&answer, "not approved")),
            }
        }
        Ok(())
    }

    /// After a call: what the model is told about it may be changed.
    pub async fn after_tool(
        &self,
        meta: &Meta,
        tool: &str,
        arguments: &Value,
        said: Said,
        took: Duration,
    ) -> LlmAdvice<Said> {
        let mut said = said;
        for process in self.at("after_tool") {
            let result = json!({"for_llm": said.text, "is_error": said.is_error});
            let duration = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let params = json!({"meta": meta.wire(), "context": meta.context(), "tool": tool,
                "arguments": arguments, "result": result, "duration": duration});
            match self.intercept(process, "hook.after_tool", &params).await {
                Step::Go(answer) => said = answer.get("result").and_then(said_of).unwrap_or(said),
                Step::Stay => {}
                Step::Abort(why) => return LlmAdvice::AbortTurn(why),
                Step::HardAbort(why) => return LlmAdvice::HardAbort(why),
            }
        }
        LlmAdvice::Proceed(said)
    }

    /// Before the model is asked: messages but the instructions may change, tools may be taken away.
    pub async fn before_llm(&self, meta: &Meta, model: &str, request: Request) -> LlmAdvice<Request> {
        let mut request = request;
        for process in self.at("before_llm") {
            let params = json!({"meta": meta.wire(), "context": meta.context(), "model": model,
                "messages": request.messages, "tools": tools(&request.tools),
                "options": {"max_tokens": request.max_tokens, "temperature": request.temperature},
                "graceful_terminal": false});
            match self.intercept(process, "hook.before_llm", &params).await {
                Step::Go(answer) => change(&mut request, &answer, process),
                Step::Stay => {}
                Step::Abort(why) => return LlmAdvice::AbortTurn(why),
                Step::HardAbort(why) => return LlmAdvice::HardAbort(why),
            }
        }
        LlmAdvice::Proceed(request)
    }

    /// After the model answered: its text may change, its calls may be taken away.
    pub async fn after_llm(&self, meta: &Meta, model: &str, answer: Answer) -> LlmAdvice<Answer> {
        let mut answer = answer;
        for process in self.at("after_llm") {
            let response = json!({"content": answer.content, "tool_calls": answer.tool_calls});
            let params =
                json!({"meta": meta.wire(), "context": meta.context(), "model": model, "response": response});
            match self.intercept(process, "hook.after_llm", &params).await {
                Step::Go(changed) => {
                    let response = changed.get("response").unwrap_or(&Value::Null);
                    if let Some(content) = response.get("content").and_then(Value::as_str) {
                        answer.content = content.to_owned();
                    }
                    if let Some(calls) = response.get("tool_calls").and_then(Value::as_array) {
                        let kept = |id: &str| calls.iter().any(|call| call["id"].as_str() == Some(id));
                        answer.tool_calls.retain(|call| kept(&call.id));
                    }
                }
                Step::Stay => {}
                Step::Abort(why) => return LlmAdvice::AbortTurn(why),
                Step::HardAbort(why) => return LlmAdvice::HardAbort(why),
            }
        }
        LlmAdvice::Proceed(answer)
    }

    async fn intercept(&self, process: &HookProcess, method: &str, params: &Value) -> Step {
        match process.ask(method, params, self.interceptor).await {
            Err(why) => {
                tracing::warn!(target: "hook", error = %why, method, "A hook was not heard; the turn goes on without it");
                Step::Stay
            }
            Ok(answer) => match action(&answer) {
                Some("modify") => Step::Go(answer),
                Some("abort_turn") => Step::Abort(reason(&answer, "hook requested turn abort")),
                Some("hard_abort") => Step::HardAbort(reason(&answer, "hook requested turn abort")),
                Some("continue") | None => Step::Stay,
                Some(other) => {
                    tracing::warn!(target: "hook", hook = %process.name(), action = other, method, "An action that means nothing here");
                    Step::Stay
                }
            },
        }
    }
}

/// What an interceptor that may be ignored came to.
enum Step {
    Go(Value),
    Stay,
    Abort(String),
    HardAbort(String),
}

/// What a judge said.
enum Judged {
    Continue,
    Modify { tool: Option<String>, arguments: Option<Value> },
    Respond(Said),
    Deny(String),
    Abort(String),
    HardAbort(String),
}

/// Reads a judge's answer; what cannot be read is no yes.
fn judged(process: &HookProcess, answer: &Value) -> Result<Judged, HookError> {
    let garbage = |what: &str| HookError::Garbage { name: process.name().to_owned(), what: what.to_owned() };
    match action(answer) {
        Some("continue") => Ok(Judged::Continue),
        Some("modify") => {
            let call = answer
                .get("call")
                .and_then(Value::as_object)
                .ok_or_else(|| garbage("`modify` without `call`"))?;
            let tool = match call.get("tool") {
                None | Some(Value::Null) => None,
                Some(Value::String(tool)) => Some(tool.clone()),
                Some(_) => return Err(garbage("`call.tool` is no text")),
            };
            let arguments = match call.get("arguments") {
                None | Some(Value::Null) => None,
                Some(arguments @ Value::Object(_)) => Some(arguments.clone()),
                Some(_) => return Err(garbage("`call.arguments` is no object")),
            };
            Ok(Judged::Modify { tool, arguments })
        }
        Some("respond") => answer
            .get("result")
            .and_then(said_of)
            .map(Judged::Respond)
            .ok_or_else(|| garbage("`respond` without `result.for_llm`")),
        Some("deny_tool") => Ok(Judged::Deny(reason(answer, "denied"))),
        Some("abort_turn") => Ok(Judged::Abort(reason(answer, "hook requested turn abort"))),
        Some("hard_abort") => Ok(Judged::HardAbort(reason(answer, "hook requested turn abort"))),
        Some(_) => Err(garbage("an action that does not exist")),
        None => Err(garbage("no `action`")),
    }
}

fn action(answer: &Value) -> Option<&str> {
    answer.get("action").and_then(Value::as_str)
}

fn reason(answer: &Value, otherwise: &str) -> String {
    let said = answer.get("reason").and_then(Value::as_str).filter(|said| !said.is_empty());
    said.unwrap_or(otherwise).chars().take(500).collect()
}

fn said_of(result: &Value) -> Option<Said> {
    let text = result.get("for_llm")?.as_str()?.to_owned();
    let is_error = result.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    Some(Said { text, is_error })
}

fn tools(tools: &[ToolSpec]) -> Vec<Value> {
    let wire = |tool: &ToolSpec| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}});
    tools.iter().map(wire).collect()
}

/// Takes over what a hook may change: not the instructions, and of the tools only fewer.
fn change(request: &mut Request, answer: &Value, process: &HookProcess) {
    let empty = Map::new();
    let changed = answer.get("request").and_then(Value::as_object).unwrap_or(&empty);
    if let Some(messages) = changed.get("messages") {
        match serde_json::from_value::<Vec<Message>>(messages.clone()) {
            Ok(theirs) => request.messages = with_own_system(&request.messages, theirs),
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
