//! One line of the wire: a message, or the reason why it is none.
//!
//! Invariant: whatever is not a message is answered, under its own identifier where it has one.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId};
use serde_json::Value;

/// The longest line that is read, in bytes.
pub(super) const MOST: usize = 4 << 20;

/// What a line holds.
#[derive(Debug)]
pub(super) enum Frame {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing to answer: an empty line, or a notification that nobody knows.
    Nothing,
    /// Something wrong; how to answer it.
    Fault(ErrorData, Option<RequestId>),
}

/// Takes a line apart.
pub(super) fn read(line: &[u8]) -> Frame {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.is_empty() {
        return Frame::Nothing;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Frame::Message(Box::new(message)),
        Err(why) => fault(line, &why),
    }
}

/// The answer to a line that is too long to be read.
pub(super) fn too_long() -> ErrorData {
    let text = format!("the message is longer than {MOST} bytes and was not read");
    ErrorData::new(ErrorCode::INVALID_REQUEST, text, None)
}

fn fault(line: &[u8], why: &serde_json::Error) -> Frame {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Frame::Fault(ErrorData::new(ErrorCode::PARSE_ERROR, format!("not JSON: {why}"), None), None);
    };
    let invalid = |text: String| ErrorData::new(ErrorCode::INVALID_REQUEST, text, None);
    if value.is_array() {
        let text = "batches were dropped from the protocol; send one message a line".to_owned();
        return Frame::Fault(invalid(text), None);
    }
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    match (value.get("method").and_then(Value::as_str), value.get("id")) {
        (Some(_), None) => Frame::Nothing,
        (Some(method), Some(_)) if id.is_some() => {
            let text =
                format!("the parameters of `{}` do not fit: {why}", picoclaw_sandbox::printable(method));
            Frame::Fault(ErrorData::new(ErrorCode::INVALID_PARAMS, text, None), id)
        }
        // What is neither a request nor a notification may be an answer to us: answering an answer never ends.
        (None, _) if value.get("result").is_some() || value.get("error").is_some() => Frame::Nothing,
        _ => Frame::Fault(invalid("not a JSON-RPC 2.0 message".to_owned()), id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_under_its_own_name() {
        for (why, line, want) in [
            ("a request", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message"),
            ("a byte order mark", "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "message"),
            ("a carriage return", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n", "message"),
            ("nothing", " \n", "nothing"),
            ("half an object", r#"{"jsonrpc":"2.0","id":1,"#, "-32700 null"),
            ("no JSON", "GET / HTTP/1.1", "-32700 null"),
            ("not UTF-8", "\u{0}", "-32700 null"),
            ("a batch", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "-32600 null"),
            ("a number", "1", "-32600 null"),
            ("another JSON-RPC", r#"{"jsonrpc":"1.0","id":7}"#, "-32600 7"),
            (
                "arguments that are no object: the porch refuses the call and records it",
                r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"exec","arguments":[1]}}"#,
                "message",
            ),
            (
                "no parameters: the porch answers that, too",
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#,
                "message",
            ),
            ("an answer that fits nothing", r#"{"jsonrpc":"2.0","id":{},"result":1}"#, "nothing"),
        ] {
            let got = match read(line.as_bytes()) {
                Frame::Message(_) => "message".to_owned(),
                Frame::Nothing => "nothing".to_owned(),
                Frame::Fault(error, id) => {
                    format!("{} {}", error.code.0, id.map_or("null".to_owned(), |id| id.to_string()))
                }
            };
            assert_eq!(got, want, "{why}: {line}");
        }
    }
}
