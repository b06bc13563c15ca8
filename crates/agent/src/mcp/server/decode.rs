//! Decodes a line from a client into an rmcp message, or into the error response to it.

use crate::jsonrpc::{Members, ParseError};
use picoclaw_sandbox::printable;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId};
use serde_json::value::RawValue;

/// The largest message.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// A decoded line.
#[derive(Debug)]
pub(super) enum Decoded {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Not to be answered: an empty line, an unknown notification, or an unknown response.
    Ignored,
    /// To be answered with this error, under this id.
    Invalid(ErrorData, Option<RequestId>),
}

/// Decodes one line.
pub(super) fn decode(line: &[u8]) -> Decoded {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.is_empty() {
        return Decoded::Ignored;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Decoded::Message(Box::new(message)),
        Err(why) => explain(line, &why),
    }
}

/// The error for a message that is too long to be read.
pub(super) fn too_long() -> ErrorData {
    let text = format!("the message is longer than {MAX_MESSAGE_BYTES} bytes and was not read");
    ErrorData::new(ErrorCode::INVALID_REQUEST, text, None)
}

/// Why rmcp could not decode `line`.
fn explain(line: &[u8], why: &serde_json::Error) -> Decoded {
    let invalid = |text: &str| ErrorData::new(ErrorCode::INVALID_REQUEST, text.to_owned(), None);
    let members = match Members::parse(line) {
        Ok(members) => members,
        Err(ParseError::NotJson) => {
            return Decoded::Invalid(
                ErrorData::new(ErrorCode::PARSE_ERROR, format!("not JSON: {why}"), None),
                None,
            );
        }
        Err(ParseError::Batch) => {
            let text = "batches were dropped from the protocol; send one message a line";
            return Decoded::Invalid(invalid(text), None);
        }
        Err(ParseError::NotAMessage) => return Decoded::Invalid(invalid("not a JSON-RPC 2.0 message"), None),
    };
    let id = members.id.and_then(request_id);
    match members.method.as_str() {
        Some(_) if members.id.is_none() => Decoded::Ignored,
        Some(method) if id.is_some() => {
            let text = format!("the parameters of `{}` do not fit: {why}", printable(method));
            Decoded::Invalid(ErrorData::new(ErrorCode::INVALID_PARAMS, text, None), id)
        }
        // Possibly a response to a request of the server's: responding to it would never end.
        None if members.result.is_some() || members.error.is_some() => Decoded::Ignored,
        _ => Decoded::Invalid(invalid("not a JSON-RPC 2.0 message"), id),
    }
}

fn request_id(raw: &RawValue) -> Option<RequestId> {
    serde_json::from_str(raw.get()).ok()
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
                "arguments that are no object: the handler refuses the call and records it",
                r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"exec","arguments":[1]}}"#,
                "message",
            ),
            (
                "no parameters: the handler answers that, too",
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#,
                "message",
            ),
            ("an answer that fits nothing", r#"{"jsonrpc":"2.0","id":{},"result":1}"#, "nothing"),
        ] {
            let got = match decode(line.as_bytes()) {
                Decoded::Message(_) => "message".to_owned(),
                Decoded::Ignored => "nothing".to_owned(),
                Decoded::Invalid(error, id) => {
                    format!("{} {}", error.code.0, id.map_or("null".to_owned(), |id| id.to_string()))
                }
            };
            assert_eq!(got, want, "{why}: {line}");
        }
    }
}
