//! Frames: one JSON-RPC 2.0 object a line, in both directions.
//!
//! Invariant: a line that is too long, or no answer of ours, never becomes an answer.

use serde_json::{Value, json};

/// The longest line, either way.
pub(super) const MOST: usize = 1 << 20;

/// A request that wants an answer.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// Something that wants none.
pub(super) fn notification(method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

fn line(frame: &Value) -> Vec<u8> {
    let mut text = frame.to_string().into_bytes();
    text.push(b'\n');
    text
}

/// What a line from a hook is.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    /// An answer to the request of that number.
    Answer(u64, Result<Value, String>),
    /// Anything else: said, and not asked for.
    Noise(String),
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Frame {
    let Ok(Value::Object(mut frame)) = serde_json::from_slice::<Value>(line) else {
        return Frame::Noise("no JSON object".to_owned());
    };
    let Some(id) = frame.get("id").and_then(Value::as_u64) else {
        return Frame::Noise("no answer: it has no id of ours".to_owned());
    };
    match (frame.remove("result"), frame.remove("error")) {
        (Some(result), None | Some(Value::Null)) => Frame::Answer(id, Ok(result)),
        (None | Some(Value::Null), Some(error)) => {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
            Frame::Answer(id, Err(message.chars().take(500).collect()))
        }
        _ => Frame::Answer(id, Err("neither a result nor an error".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_or_noise() {
        let refused = |text: &str| Frame::Answer(7, Err(text.to_owned()));
        for (why, line, want) in [
            ("an answer", r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Frame::Answer(7, Ok(json!({})))),
            (
                "null is a result too",
                r#"{"id":7,"result":null,"error":null}"#,
                Frame::Answer(7, Ok(Value::Null)),
            ),
            ("an error", r#"{"id":7,"error":{"code":1,"message":"no"}}"#, refused("no")),
            (
                "both",
                r#"{"id":7,"result":{},"error":{"message":"no"}}"#,
                refused("neither a result nor an error"),
            ),
            ("neither", r#"{"id":7}"#, refused("neither a result nor an error")),
            (
                "a text for an id",
                r#"{"id":"7","result":{}}"#,
                Frame::Noise("no answer: it has no id of ours".into()),
            ),
            ("no JSON", "hello", Frame::Noise("no JSON object".into())),
            ("a list", "[1]", Frame::Noise("no JSON object".into())),
        ] {
            assert_eq!(read(line.as_bytes()), want, "{why}: {line}");
        }
    }
}
