//! One JSON-RPC message on one line.
//!
//! Readers differ in what they make of a member that is there twice, or of `Result` beside `result`. So a frame is always
//! written anew from its six known members: what was judged is what the other side reads.
//!
//! Invariant: a frame is a request, a notification or a response, and never two of them.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Why a line is no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Not JSON, or not text.
    #[error("not JSON")]
    NotJson,
    /// JSON of another kind.
    #[error("no JSON-RPC 2.0 message")]
    NotAMessage,
    /// Several at once, which no present revision has.
    #[error("a batch")]
    Batch,
}

/// Who a message is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Id {
    /// A number, as it was spelled.
    Number(String),
    /// A text.
    Text(String),
}

impl Id {
    /// Reads one from JSON.
    pub fn read(raw: &str) -> Option<Self> {
        match serde_json::from_str(raw).ok()? {
            Value::String(text) => Some(Self::Text(text)),
            Value::Number(_) => Some(Self::Number(raw.trim().to_owned())),
            _ => None,
        }
    }

    /// As JSON.
    pub fn spelled(&self) -> String {
        match self {
            Self::Number(text) => text.clone(),
            Self::Text(text) => Value::from(text.as_str()).to_string(),
        }
    }
}

/// One message; `params`, `result` and `error` as they were spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A question.
    Request {
        /// Whose answer is wanted.
        id: Id,
        /// What is asked.
        method: String,
        /// With what.
        params: Option<String>,
    },
    /// Something said.
    Notification {
        /// What.
        method: String,
        /// With what.
        params: Option<String>,
    },
    /// An answer.
    Response {
        /// To which question.
        id: Id,
        /// The answer.
        outcome: Outcome,
    },
}

/// How a question was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a result.
    Result(String),
    /// With an error.
    Error(String),
}

#[derive(Deserialize)]
struct Members<'f> {
    jsonrpc: String,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'f RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'f RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'f RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'f RawValue>,
}

/// `null` is something that was said; only what is absent is none.
fn present<'de: 'f, 'f, D: Deserializer<'de>>(from: D) -> Result<Option<&'f RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl Frame {
    /// Reads a line.
    pub fn read(line: &[u8]) -> Result<Self, FrameError> {
        let text = std::str::from_utf8(line).map_err(|_| FrameError::NotJson)?.trim();
        if text.starts_with('[') {
            return Err(FrameError::Batch);
        }
        let members: Members<'_> = serde_json::from_str(text).map_err(|why| match why.classify() {
            serde_json::error::Category::Data => FrameError::NotAMessage,
            _ => FrameError::NotJson,
        })?;
        members.frame().ok_or(FrameError::NotAMessage)
    }

    /// The frame as a line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let mut out = String::from(r#"{"jsonrpc":"2.0""#);
        let mut add = |name: &str, value: &str| {
            out.push_str(",\"");
            out.push_str(name);
            out.push_str("\":");
            out.push_str(value);
        };
        match self {
            Self::Request { id, method, params } => {
                add("id", &id.spelled());
                add("method", &Value::from(method.as_str()).to_string());
                params.iter().for_each(|params| add("params", params));
            }
            Self::Notification { method, params } => {
                add("method", &Value::from(method.as_str()).to_string());
                params.iter().for_each(|params| add("params", params));
            }
            Self::Response { id, outcome } => {
                add("id", &id.spelled());
                match outcome {
                    Outcome::Result(result) => add("result", result),
                    Outcome::Error(error) => add("error", error),
                }
            }
        }
        out.push_str("}\n");
        out.into_bytes()
    }
}

impl Members<'_> {
    fn frame(self) -> Option<Frame> {
        if self.jsonrpc != "2.0" {
            return None;
        }
        let owned = |raw: Option<&RawValue>| raw.map(|raw| one_line(raw.get()));
        let id = match self.id {
            Some(raw) => Some(Id::read(raw.get())?),
            None => None,
        };
        match (id, self.method, self.result, self.error) {
            (Some(id), Some(method), None, None) => {
                Some(Frame::Request { id, method, params: owned(self.params) })
            }
            (None, Some(method), None, None) => {
                Some(Frame::Notification { method, params: owned(self.params) })
            }
            (Some(id), None, Some(result), None) => {
                Some(Frame::Response { id, outcome: Outcome::Result(one_line(result.get())) })
            }
            (Some(id), None, None, Some(error)) => {
                Some(Frame::Response { id, outcome: Outcome::Error(one_line(error.get())) })
            }
            _ => None,
        }
    }
}

/// Between tokens JSON takes a carriage return for a space, and some readers for the end of a line.
fn one_line(raw: &str) -> String {
    if raw.contains(['\r', '\n']) { raw.replace(['\r', '\n'], " ") } else { raw.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_out_as_it_was_meant() {
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
            let got = Frame::read(line.as_bytes()).unwrap_or_else(|error| panic!("{why}: {error}")).line();
            assert_eq!(String::from_utf8(got).unwrap(), format!("{want}\n"), "{why}");
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_no_frame() {
        for (why, line, want) in [
            (
                "a member that is there twice",
                r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{"tools":[]}}"#,
                FrameError::NotAMessage,
            ),
            ("two ids", r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#, FrameError::NotAMessage),
            (
                "an answer that asks",
                r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{}}"#,
                FrameError::NotAMessage,
            ),
            ("both answers", r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, FrameError::NotAMessage),
            ("an answer to nobody", r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, FrameError::NotAMessage),
            (
                "an id that is neither text nor number",
                r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#,
                FrameError::NotAMessage,
            ),
            ("another version", r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, FrameError::NotAMessage),
            ("no version", r#"{"id":1,"result":{}}"#, FrameError::NotAMessage),
            ("a batch", r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, FrameError::Batch),
            (
                "two messages",
                r#"{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}"#,
                FrameError::NotJson,
            ),
            ("half a message", r#"{"jsonrpc":"2.0","id":1,"#, FrameError::NotJson),
            ("a banner", "Server running on stdio", FrameError::NotJson),
            ("nothing", "", FrameError::NotJson),
        ] {
            assert_eq!(Frame::read(line.as_bytes()), Err(want), "{why}: {line}");
        }
        assert_eq!(
            Frame::read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}"),
            Err(FrameError::NotJson),
            "no text"
        );
    }
}
