//! A chat request: which agent, what was said before, and what is said now.
//!
//! Invariant: what cannot be honoured is refused by name, not left out in silence; settings of the model are the
//! configuration's, and are not taken from a client.

use super::error::Fault;
use crate::message::{Message, Role};
use serde::Deserialize;
use serde_json::Value;

/// A request as it is written.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    model: Option<String>,
    messages: Option<Vec<Said>>,
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
struct Said {
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

/// A request that can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The agent's name, as it was written.
    pub(super) model: String,
    /// What was said before.
    pub(super) history: Vec<Message>,
    /// What is said now.
    pub(super) input: String,
    /// Whether the answer is to come piece by piece.
    pub(super) stream: bool,
    /// Whether its last piece tells what it cost.
    pub(super) include_usage: bool,
}

impl Written {
    /// The request, checked.
    pub(super) fn check(self) -> Result<Request, Fault> {
        let model =
            self.model.ok_or_else(|| Fault::invalid("model", "you must provide a model: an agent's id"))?;
        if self.n.is_some_and(|n| n != 1) {
            return Err(Fault::invalid("n", "an agent gives one answer: `n` must be 1"));
        }
        for (param, tools) in [("tools", self.tools), ("functions", self.functions)] {
            if tools.is_some_and(|tools| !tools.is_empty()) {
                let why = "an agent has the tools of its configuration, and takes none from a client";
                return Err(Fault::invalid(param, why));
            }
        }
        let mut said = self.messages.unwrap_or_default();
        let last =
            said.pop().ok_or_else(|| Fault::invalid("messages", "there must be at least one message"))?;
        if last.role != "user" {
            return Err(Fault::invalid("messages", "the last message must be the user's"));
        }
        let input = last.text()?;
        let mut history = Vec::new();
        let mut wishes = Vec::new();
        for said in said {
            let text = said.text()?;
            match said.role.as_str() {
                "user" => history.push(Message::text(Role::User, text)),
                "assistant" => history.push(Message::text(Role::Assistant, text)),
                "system" | "developer" => wishes.push(text),
                // Results of tools that a client ran itself are no part of an agent's work.
                "tool" | "function" => {}
                other => {
                    let shown: String = other.chars().take(40).collect();
                    let why = format!("`{}` is not a role", picoclaw_sandbox::printable(&shown));
                    return Err(Fault::invalid("messages", why));
                }
            }
        }
        history.retain(|message| !message.content.is_empty());
        // The configuration instructs an agent; what a client would like is said as its words, and first.
        if !wishes.is_empty() {
            history.insert(0, Message::text(Role::User, wishes.join("\n\n")));
        }
        let include_usage = self.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
        Ok(Request { model, history, input, stream: self.stream.unwrap_or(false), include_usage })
    }
}

impl Said {
    fn text(&self) -> Result<String, Fault> {
        match &self.content {
            None => Ok(String::new()),
            Some(Content::Text(text)) => Ok(text.clone()),
            Some(Content::Parts(parts)) => {
                let mut whole = Vec::new();
                for part in parts {
                    match (&*part.kind, &part.text) {
                        ("text" | "refusal", Some(text)) => whole.push(text.as_str()),
                        _ => return Err(Fault::invalid("messages", "only text can be said to an agent")),
                    }
                }
                Ok(whole.join("\n"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Request, Fault> {
        serde_json::from_str::<Written>(text).unwrap().check()
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
                (Err(fault), Err(param)) => assert_eq!(fault.object()["error"]["param"], param, "{why}"),
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
