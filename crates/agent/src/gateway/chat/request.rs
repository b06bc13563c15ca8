//! A chat request. A parameter that cannot be honoured is refused by name; model settings come from
//! the configuration and are ignored here.

use super::error::ApiError;
use crate::message::{Message, Role};
use picoclaw_sandbox::{first_chars, printable};
use serde::Deserialize;
use serde_json::Value;

/// A request as sent.
#[derive(Debug, Deserialize)]
pub(super) struct RawChatRequest {
    model: Option<String>,
    messages: Option<Vec<RawMessage>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<u64>,
    tools: Option<Vec<Value>>,
    functions: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct RawMessage {
    role: String,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// A valid request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChatRequest {
    /// The agent's name.
    pub(super) model: String,
    /// The earlier messages.
    pub(super) history: Vec<Message>,
    /// The last message.
    pub(super) input: String,
    /// Whether to stream the completion.
    pub(super) stream: bool,
    /// Whether the stream ends with token counts.
    pub(super) include_usage: bool,
}

impl RawChatRequest {
    /// Validates the request.
    pub(super) fn check(self) -> Result<ChatRequest, ApiError> {
        let model = self
            .model
            .ok_or_else(|| ApiError::invalid("model", "you must provide a model: an agent's id"))?;
        if self.n.is_some_and(|n| n != 1) {
            return Err(ApiError::invalid("n", "an agent gives one answer: `n` must be 1"));
        }
        for (param, tools) in [("tools", self.tools), ("functions", self.functions)] {
            if tools.is_some_and(|tools| !tools.is_empty()) {
                let why = "an agent has the tools of its configuration, and takes none from a client";
                return Err(ApiError::invalid(param, why));
            }
        }
        let mut messages = self.messages.unwrap_or_default();
        let last = messages
            .pop()
            .ok_or_else(|| ApiError::invalid("messages", "there must be at least one message"))?;
        if last.role != "user" {
            return Err(ApiError::invalid("messages", "the last message must be the user's"));
        }
        let input = last.text()?;
        let mut history = Vec::new();
        let mut instructions = Vec::new();
        for message in messages {
            let text = message.text()?;
            match message.role.as_str() {
                "user" => history.push(Message::text(Role::User, text)),
                "assistant" => history.push(Message::text(Role::Assistant, text)),
                "system" | "developer" => instructions.push(text),
                // Results of the client's own tools are not part of the agent's conversation.
                "tool" | "function" => {}
                other => {
                    let why = format!("`{}` is not a role", printable(first_chars(other, 40)));
                    return Err(ApiError::invalid("messages", why));
                }
            }
        }
        history.retain(|message| !message.content.is_empty());
        // The system prompt is the configuration's; a client's instructions become the first user
        // message.
        if !instructions.is_empty() {
            history.insert(0, Message::text(Role::User, instructions.join("\n\n")));
        }
        let include_usage = self.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
        Ok(ChatRequest { model, history, input, stream: self.stream.unwrap_or(false), include_usage })
    }
}

impl RawMessage {
    fn text(&self) -> Result<String, ApiError> {
        match &self.content {
            None => Ok(String::new()),
            Some(Content::Text(text)) => Ok(text.clone()),
            Some(Content::Parts(parts)) => {
                let mut texts = Vec::new();
                for part in parts {
                    match (&*part.kind, &part.text) {
                        ("text" | "refusal", Some(text)) => texts.push(text.as_str()),
                        _ => return Err(ApiError::invalid("messages", "only text can be said to an agent")),
                    }
                }
                Ok(texts.join("\n"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<ChatRequest, ApiError> {
        serde_json::from_str::<RawChatRequest>(text).unwrap().check()
    }

    #[test]
    fn a_request_is_taken_whole_or_refused_by_name() {
        for (why, text, want) in [
            (
                "plain",
                r#"{"model":"main","messages":[{"role":"user","content":"hi"}],"temperature":2,"user":"x"}"#,
                Ok("hi"),
            ),
            (
                "parts",
                r#"{"model":"main","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#,
                Ok("a\nb"),
            ),
            (
                "empty tools",
                r#"{"model":"main","tools":[],"messages":[{"role":"user","content":"hi"}]}"#,
                Ok("hi"),
            ),
            ("no model", r#"{"messages":[{"role":"user","content":"hi"}]}"#, Err("model")),
            ("no messages", r#"{"model":"main"}"#, Err("messages")),
            (
                "an image",
                r#"{"model":"main","messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#,
                Err("messages"),
            ),
            (
                "an answer last",
                r#"{"model":"main","messages":[{"role":"assistant","content":"hi"}]}"#,
                Err("messages"),
            ),
            (
                "another role",
                r#"{"model":"main","messages":[{"role":"root","content":"x"},{"role":"user","content":"x"}]}"#,
                Err("messages"),
            ),
            (
                "two answers",
                r#"{"model":"main","n":2,"messages":[{"role":"user","content":"hi"}]}"#,
                Err("n"),
            ),
            (
                "tools",
                r#"{"model":"main","tools":[{}],"messages":[{"role":"user","content":"hi"}]}"#,
                Err("tools"),
            ),
        ] {
            match (checked(text), want) {
                (Ok(request), Ok(input)) => assert_eq!(request.input, input, "{why}"),
                (Err(error), Err(param)) => assert_eq!(error.to_json()["error"]["param"], param, "{why}"),
                (got, _) => panic!("{why}: {got:?}"),
            }
        }
    }

    #[test]
    fn a_client_instructs_nobody() {
        let text = r#"{"model":"main","messages":[{"role":"system","content":"obey"},{"role":"user","content":"a"},
            {"role":"assistant","content":null},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
        let request = checked(text).unwrap();
        let shape: Vec<_> = request.history.iter().map(|said| (said.role, said.content.as_str())).collect();
        assert_eq!(shape, [(Role::User, "obey"), (Role::User, "a"), (Role::Assistant, "b")]);
    }
}
