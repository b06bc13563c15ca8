//! What a server asks of its host: completions of the host's model, and answers of its user. Both
//! are passed on only if the operator allows it, and say from which server they come.

use super::error_reply::{ProxyError, error_reply};
use crate::jsonrpc::{Id, Message, Outcome};
use picoclaw_sandbox::printable_lines;
use serde_json::{Map, Value};

/// What a server may ask of its host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllowedRequests {
    /// `sampling/createMessage`.
    pub sampling: bool,
    /// `elicitation/create`.
    pub elicitation: bool,
}

const SAMPLING: &str = "sampling/createMessage";
const ELICITATION: &str = "elicitation/create";

/// Requests of a server that say nothing to a model or a person.
const PLAIN: [&str; 2] = ["ping", "roots/list"];

impl AllowedRequests {
    /// A request as it is passed on; otherwise the flag that would allow it, if there is one.
    pub(super) fn check(
        self,
        server: &str,
        method: &str,
        params: Option<String>,
    ) -> Result<Option<String>, Option<&'static str>> {
        let mark = |mark: fn(&mut Map<String, Value>, &str)| {
            let mut members = super::proxy::parse_object(params.as_deref());
            mark(&mut members, server);
            Ok(Some(Value::Object(members).to_string()))
        };
        match method {
            SAMPLING if self.sampling => mark(mark_sampling),
            SAMPLING => Err(Some("--allow-sampling")),
            ELICITATION if self.elicitation => mark(mark_elicitation),
            ELICITATION => Err(Some("--allow-elicitation")),
            method if PLAIN.contains(&method) => Ok(params),
            _ => Err(None),
        }
    }

    /// A result that may ask for input, as revisions without server requests do.
    pub(super) fn check_result(self, server: &str, id: &Id, outcome: Outcome) -> Vec<u8> {
        let Outcome::Result(text) = &outcome else {
            return Message::Response { id: id.clone(), outcome }.to_line();
        };
        let Some(mut members) = with_input_requests(text) else {
            return Message::Response { id: id.clone(), outcome }.to_line();
        };
        let requests = members.get_mut("inputRequests").and_then(Value::as_object_mut);
        for request in requests.into_iter().flat_map(|requests| requests.values_mut()) {
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            match self.check(server, &method, Some(request["params"].to_string())) {
                Ok(params) => {
                    let params = params.and_then(|params| serde_json::from_str(&params).ok());
                    request["params"] = params.unwrap_or_default();
                }
                Err(flag) => return error_reply(id, &ProxyError::NotAllowed { method: &method, flag }),
            }
        }
        let outcome = Outcome::Result(Value::Object(members).to_string());
        Message::Response { id: id.clone(), outcome }.to_line()
    }

    /// The capabilities of the host that the server is told of.
    pub(super) fn narrow_capabilities(self, params: Option<String>) -> Option<String> {
        let mut members = super::proxy::parse_object(params.as_deref());
        let Some(Value::Object(capabilities)) = members.get_mut("capabilities") else { return params };
        let before = capabilities.len();
        capabilities.retain(|name, _| match name.as_str() {
            "sampling" => self.sampling,
            "elicitation" => self.elicitation,
            _ => true,
        });
        if capabilities.len() == before { params } else { Some(Value::Object(members).to_string()) }
    }
}

/// The members of a result that has `inputRequests`; `None` for every other one.
fn with_input_requests(text: &str) -> Option<Map<String, Value>> {
    // An escape could spell the name in another way.
    if !text.contains("inputRequests") && !text.contains("\\u") {
        return None;
    }
    let members: Map<String, Value> = serde_json::from_str(text).ok()?;
    members.contains_key("inputRequests").then_some(members)
}

fn marked(server: &str, text: &str) -> Value {
    format!("[from server {server}] {}", printable_lines(text)).into()
}

fn mark_elicitation(params: &mut Map<String, Value>, server: &str) {
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    params.insert("message".to_owned(), marked(server, message));
}

/// Marks the instructions and every text, also those of tool results.
fn mark_sampling(params: &mut Map<String, Value>, server: &str) {
    let prompt = params.get("systemPrompt").and_then(Value::as_str).unwrap_or_default();
    params.insert("systemPrompt".to_owned(), marked(server, prompt));
    let messages = params.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten() {
        mark_content(message, server);
    }
}

/// Marks the texts of the content of a message, or of a tool result in one.
fn mark_content(holder: &mut Value, server: &str) {
    let contents = match holder.get_mut("content") {
        Some(Value::Array(contents)) => contents.iter_mut().collect(),
        content => Vec::from_iter(content),
    };
    for content in contents {
        if let Some(text) = content.get("text").and_then(Value::as_str).map(str::to_owned) {
            content["text"] = marked(server, &text);
        }
        mark_content(content, server);
    }
}
