//! JSON-RPC 2.0 messages, one per line: for hooks, the MCP server and `mcp wrap`.
//!
//! Parsers differ in what they make of a duplicated member, or of `Result` beside `result`. A line
//! with a duplicated member is therefore refused, and a message is always written anew from its six
//! known members, so that the receiver reads what was checked here.

mod oversized;

pub(crate) use oversized::{OversizedId, OversizedMessage};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Why a line is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// Not JSON, or not UTF-8.
    #[error("not JSON")]
    NotJson,
    /// JSON, but not a JSON-RPC 2.0 object.
    #[error("not a JSON-RPC 2.0 message")]
    NotAMessage,
    /// A batch, which no current revision of MCP has.
    #[error("a batch")]
    Batch,
}

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Id {
    /// A number, as written.
    Number(String),
    /// A string.
    Text(String),
}

impl Id {
    /// Parses the JSON text of an id.
    pub(crate) fn parse(json: &str) -> Option<Self> {
        match serde_json::from_str(json).ok()? {
            Value::String(text) => Some(Self::Text(text)),
            Value::Number(_) => Some(Self::Number(json.trim().to_owned())),
            _ => None,
        }
    }

    /// The JSON text.
    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Number(text) => text.clone(),
            Self::Text(text) => Value::from(text.as_str()).to_string(),
        }
    }
}

/// One message; `params`, `result` and `error` are JSON text as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    Request { id: Id, method: String, params: Option<String> },
    Notification { method: String, params: Option<String> },
    Response { id: Id, outcome: Outcome },
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Result(String),
    Error(String),
}

/// The members of a JSON object that JSON-RPC knows, not yet checked.
#[derive(Deserialize)]
pub(crate) struct Members<'a> {
    #[serde(default)]
    jsonrpc: Value,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) method: Value,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) error: Option<&'a RawValue>,
}

/// Distinguishes `null` from an absent member.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl<'a> Members<'a> {
    /// Parses a line; a duplicated member is an error.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, ParseError> {
        let text = std::str::from_utf8(line).map_err(|_| ParseError::NotJson)?.trim();
        if text.starts_with('[') {
            let is_json = serde_json::from_str::<Value>(text).is_ok();
            return Err(if is_json { ParseError::Batch } else { ParseError::NotJson });
        }
        serde_json::from_str(text).map_err(|why| match why.classify() {
            serde_json::error::Category::Data => ParseError::NotAMessage,
            _ => ParseError::NotJson,
        })
    }

    fn into_message(self) -> Option<Message> {
        if self.jsonrpc != "2.0" {
            return None;
        }
        let id = match self.id {
            Some(raw) => Some(Id::parse(raw.get())?),
            None => None,
        };
        let method = match self.method {
            Value::Null => None,
            Value::String(method) => Some(method),
            _ => return None,
        };
        let params = self.params.map(single_line);
        match (id, method, self.result, self.error) {
            (Some(id), Some(method), None, None) => Some(Message::Request { id, method, params }),
            (None, Some(method), None, None) => Some(Message::Notification { method, params }),
            (Some(id), None, Some(result), None) => {
                Some(Message::Response { id, outcome: Outcome::Result(single_line(result)) })
            }
            (Some(id), None, None, Some(error)) => {
                Some(Message::Response { id, outcome: Outcome::Error(single_line(error)) })
            }
            _ => None,
        }
    }
}

impl Message {
    /// Parses a line strictly: it is a request, a notification or a response, and not two of them.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, ParseError> {
        Members::parse(line)?.into_message().ok_or(ParseError::NotAMessage)
    }

    /// The message as a line, with its line feed.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        let mut line = String::from(r#"{"jsonrpc":"2.0""#);
        let mut add = |name: &str, json: &str| {
            line.push_str(",\"");
            line.push_str(name);
            line.push_str("\":");
            line.push_str(json);
        };
        match self {
            Self::Request { id, method, params } => {
                add("id", &id.to_json());
                add("method", &Value::from(method.as_str()).to_string());
                params.iter().for_each(|params| add("params", params));
            }
            Self::Notification { method, params } => {
                add("method", &Value::from(method.as_str()).to_string());
                params.iter().for_each(|params| add("params", params));
            }
            Self::Response { id, outcome } => {
                add("id", &id.to_json());
                match outcome {
                    Outcome::Result(result) => add("result", result),
                    Outcome::Error(error) => add("error", error),
                }
            }
        }
        line.push_str("}\n");
        line.into_bytes()
    }
}

/// The JSON text without the carriage returns and line feeds that may stand between its tokens:
/// some readers end a line at a carriage return.
fn single_line(raw: &RawValue) -> String {
    raw.get().replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_written_from_its_known_members() {
        for (why, line, want) in [
            (
                "a request",
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            ),
            (
                "members in another order",
                r#"{"result":{"b":1,"a":1.50},"jsonrpc":"2.0","id":"x"}"#,
                r#"{"jsonrpc":"2.0","id":"x","result":{"b":1,"a":1.50}}"#,
            ),
            (
                "numbers keep their spelling",
                r#"{"jsonrpc":"2.0","id":12345678901234567890123,"result":1e400}"#,
                r#"{"jsonrpc":"2.0","id":12345678901234567890123,"result":1e400}"#,
            ),
            (
                "an unknown member is left behind",
                r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{"tools":[]}}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            ),
            (
                "an escaped name is the name",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools\/list"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            ),
            (
                "a carriage return ends no line",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\r1}}\r",
                r#"{"jsonrpc":"2.0","id":1,"result":{"a": 1}}"#,
            ),
            (
                "a notification",
                r#"{"jsonrpc":"2.0","method":"n","params":{"x":null}}"#,
                r#"{"jsonrpc":"2.0","method":"n","params":{"x":null}}"#,
            ),
            (
                "an error",
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
            ),
            (
                "no result is one too",
                r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            ),
        ] {
            let got =
                Message::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{why}: {error}")).to_line();
            assert_eq!(String::from_utf8(got).unwrap(), format!("{want}\n"), "{why}");
        }
    }

    #[test]
    fn an_ambiguous_line_is_not_a_message() {
        for (why, line, want) in [
            (
                "a member that is there twice",
                r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{"tools":[]}}"#,
                ParseError::NotAMessage,
            ),
            ("two ids", r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#, ParseError::NotAMessage),
            (
                "an answer that asks",
                r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{}}"#,
                ParseError::NotAMessage,
            ),
            ("both answers", r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, ParseError::NotAMessage),
            ("an answer to nobody", r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, ParseError::NotAMessage),
            (
                "an id that is neither text nor number",
                r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#,
                ParseError::NotAMessage,
            ),
            ("another version", r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, ParseError::NotAMessage),
            ("no version", r#"{"id":1,"result":{}}"#, ParseError::NotAMessage),
            ("a batch", r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, ParseError::Batch),
            (
                "two messages",
                r#"{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}"#,
                ParseError::NotJson,
            ),
            ("half a message", r#"{"jsonrpc":"2.0","id":1,"#, ParseError::NotJson),
            ("a banner", "Server running on stdio", ParseError::NotJson),
            ("nothing", "", ParseError::NotJson),
        ] {
            assert_eq!(Message::parse(line.as_bytes()), Err(want), "{why}: {line}");
        }
        assert_eq!(
            Message::parse(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}"),
            Err(ParseError::NotJson),
            "no text"
        );
    }
}
