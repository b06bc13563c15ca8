//! What a hook answered: its action, and what it changed.

use super::decision::{HookReply, keep_system_messages};
use super::error::HookError;
use super::process::HookProcess;
use crate::message::{Message, ToolCall};
use crate::providers::{Answer, Request};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Characters of a reason that are kept.
pub(super) const MAX_REASON: usize = 500;

/// The default reason of a hook that ends a turn.
const ABORTED: &str = "hook requested turn abort";

/// The members that carry what a hook changes.
const CHANGES: [&str; 4] = ["call", "request", "response", "result"];

/// The answer of one hook.
pub(super) struct HookAnswer<'p> {
    process: &'p HookProcess,
    members: Map<String, Value>,
}

/// What a hook wants to happen.
pub(super) enum Action {
    /// Go on, with what the answer changes.
    Proceed,
    AbortTurn(String),
    HardAbort(String),
    /// Something that not every hook point has.
    Other(String),
}

/// What a hook wants to happen to a call.
pub(super) enum ToolAction {
    Proceed { tool: Option<String>, arguments: Option<Value> },
    Respond(HookReply),
    Deny(String),
    AbortTurn(String),
    HardAbort(String),
}

impl<'p> HookAnswer<'p> {
    pub(super) fn new(process: &'p HookProcess, result: Value) -> Result<Self, HookError> {
        match result {
            Value::Object(members) => Ok(Self { process, members }),
            _ => Err(garbage(process, "no `action`")),
        }
    }

    /// The action. None is `continue`, as in the original program, unless the answer says something
    /// else that means nothing here.
    pub(super) fn action(&self) -> Result<Action, HookError> {
        let is_known = |name: &String| CHANGES.contains(&name.as_str()) || name == "reason";
        let action = match self.members.get("action") {
            Some(Value::String(action)) => action.as_str(),
            None if self.members.keys().all(is_known) => "",
            _ => return Err(self.invalid("no `action`")),
        };
        match action {
            "" | "continue" | "modify" => Ok(Action::Proceed),
            "abort_turn" => Ok(Action::AbortTurn(self.reason(ABORTED))),
            "hard_abort" => Ok(Action::HardAbort(self.reason(ABORTED))),
            other => Ok(Action::Other(other.to_owned())),
        }
    }

    /// The action of a `before_tool` hook.
    pub(super) fn tool_action(&self) -> Result<ToolAction, HookError> {
        match self.action()? {
            Action::AbortTurn(why) => Ok(ToolAction::AbortTurn(why)),
            Action::HardAbort(why) => Ok(ToolAction::HardAbort(why)),
            Action::Other(name) if name == "deny_tool" => Ok(ToolAction::Deny(self.reason("denied"))),
            Action::Other(name) if name == "respond" => {
                let reply = self.reply("result")?;
                reply
                    .map(ToolAction::Respond)
                    .ok_or_else(|| self.invalid("`respond` without `result.for_llm`"))
            }
            Action::Other(name) => Err(self.unknown_action(&name)),
            Action::Proceed => {
                let Some(call) = self.changed("call")? else {
                    return Ok(ToolAction::Proceed { tool: None, arguments: None });
                };
                let tool = self.member(call, "tool")?;
                let arguments = self.member::<Map<String, Value>>(call, "arguments")?.map(Value::Object);
                if tool.is_none() && arguments.is_none() {
                    return Err(self.invalid("a `call` without `tool` and `arguments`"));
                }
                Ok(ToolAction::Proceed { tool, arguments })
            }
        }
    }

    /// The reply under `name`, if there is one.
    pub(super) fn reply(&self, name: &'static str) -> Result<Option<HookReply>, HookError> {
        let Some(result) = self.changed(name)? else { return Ok(None) };
        let result = self.inner(result, name)?;
        let text =
            self.member(result, "for_llm")?.ok_or_else(|| self.invalid("a `result` without `for_llm`"))?;
        let is_error = self.member(result, "is_error")?.unwrap_or(false);
        Ok(Some(HookReply { text, is_error }))
    }

    /// Applies what a `before_llm` hook may change: messages but the instructions, and fewer tools.
    pub(super) fn change_request(&self, request: &mut Request) -> Result<(), HookError> {
        let Some(changed) = self.changed("request")? else { return Ok(()) };
        let (messages, kept) =
            (self.member::<Vec<Message>>(changed, "messages")?, self.member::<Vec<Value>>(changed, "tools")?);
        if messages.is_none() && kept.is_none() {
            return Err(self.invalid("a `request` without `messages` and `tools`"));
        }
        if let Some(messages) = messages {
            request.messages = keep_system_messages(&request.messages, messages);
        }
        if let Some(kept) = kept {
            let name =
                |tool: &Value| tool["function"]["name"].as_str().or(tool["name"].as_str()).map(str::to_owned);
            let names: Option<Vec<String>> = kept.iter().map(name).collect();
            let names = names.ok_or_else(|| self.invalid("a tool without a name"))?;
            request.tools.retain(|tool| names.contains(&tool.name));
        }
        Ok(())
    }

    /// Applies what an `after_llm` hook may change: the text and the calls, which are judged like
    /// any other.
    pub(super) fn change_answer(&self, answer: &mut Answer) -> Result<(), HookError> {
        let Some(response) = self.changed("response")? else { return Ok(()) };
        let response = self.inner(response, "response")?;
        let (content, calls) =
            (self.member(response, "content")?, self.member::<Vec<ToolCall>>(response, "tool_calls")?);
        if content.is_none() && calls.is_none() {
            return Err(self.invalid("a `response` without `content` and `tool_calls`"));
        }
        if let Some(content) = content {
            answer.content = content;
        }
        if let Some(calls) = calls {
            answer.tool_calls = calls;
        }
        Ok(())
    }

    /// An action that this hook point does not have.
    pub(super) fn unknown_action(&self, name: &str) -> HookError {
        let name: String = name.chars().take(40).collect();
        self.invalid(&format!("the action `{name}` does not exist here"))
    }

    /// The object under `name`. `modify` must have one.
    fn changed(&self, name: &'static str) -> Result<Option<&Map<String, Value>>, HookError> {
        let is_modify = self.members.get("action").is_some_and(|action| action == "modify");
        match self.members.get(name) {
            None | Some(Value::Null) if is_modify => Err(self.invalid(&format!("`modify` without `{name}`"))),
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(changed)) => Ok(Some(changed)),
            Some(_) => Err(self.invalid(&format!("`{name}` is not an object"))),
        }
    }

    /// The object of the same name within `outer`, where the original program has it, else `outer`.
    fn inner<'m>(
        &self,
        outer: &'m Map<String, Value>,
        name: &'static str,
    ) -> Result<&'m Map<String, Value>, HookError> {
        match outer.get(name) {
            None | Some(Value::Null) => Ok(outer),
            Some(Value::Object(inner)) => Ok(inner),
            Some(_) => Err(self.invalid(&format!("`{name}.{name}` is not an object"))),
        }
    }

    fn member<T: DeserializeOwned>(
        &self,
        object: &Map<String, Value>,
        name: &str,
    ) -> Result<Option<T>, HookError> {
        match object.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let parsed = serde_json::from_value(value.clone());
                parsed.map(Some).map_err(|why| self.invalid(&format!("`{name}`: {why}")))
            }
        }
    }

    fn reason(&self, default: &str) -> String {
        let given = self.members.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
        given.unwrap_or(default).chars().take(MAX_REASON).collect()
    }

    fn invalid(&self, what: &str) -> HookError {
        garbage(self.process, what)
    }
}

fn garbage(process: &HookProcess, what: &str) -> HookError {
    HookError::Garbage { name: process.name().to_owned(), what: what.to_owned() }
}
