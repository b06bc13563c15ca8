//! Names, ids and arguments in the form that every provider accepts.
//!
//! A model can invent a tool name with spaces, and the ids of one provider may break the rules of
//! another. Sent back as they are, they would make every later request of the session fail.

use super::http::malformed;
use super::provider::{Answer, Finish, ProviderError, Usage};
use crate::message::ToolCall;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest name or id.
const MAX_NAME_CHARS: usize = 64;

/// Tool calls in one answer.
pub(super) const MAX_CALLS: usize = 128;

/// `name` in letters, digits, `_` and `-`.
pub(super) fn sanitize_name(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let sanitized: String = name.chars().map(fit).collect();
    match sanitized.len() {
        0 => "unknown".to_owned(),
        1..=MAX_NAME_CHARS => sanitized,
        // Long ids differ at the end.
        length => sanitized[length - MAX_NAME_CHARS..].to_owned(),
    }
}

/// Arguments as text: providers send text, objects, or nothing.
pub(super) fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) if text.trim().is_empty() => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Arguments as an object, whatever the session has.
pub(super) fn object(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => object,
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("raw".to_owned(), json!(arguments))]),
    }
}

/// The parts of an answer, as a wire format found them.
#[derive(Debug, Default)]
pub(super) struct AnswerParts {
    pub(super) content: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Usage,
}

impl AnswerParts {
    /// The answer. The calls of an answer that was cut off are dropped: half a command is another
    /// command.
    pub(super) fn finish(mut self, mut finish: Finish) -> Result<Answer, ProviderError> {
        let is_cut_off =
            finish == Finish::Length || matches!(&finish, Finish::Other(why) if why == "content_filter");
        if is_cut_off {
            self.calls.clear();
        } else if !self.calls.is_empty() {
            finish = Finish::ToolCalls;
        } else if finish == Finish::ToolCalls {
            finish = Finish::Stop;
        }
        if self.calls.len() > MAX_CALLS {
            return Err(malformed(format_args!("more than {MAX_CALLS} tool calls at once")));
        }
        let mut seen = Vec::new();
        for call in &mut self.calls {
            if call.name.trim().is_empty() {
                return Err(malformed("a tool call without a name"));
            }
            if call.id.trim().is_empty() || seen.contains(&call.id) {
                call.id = fresh_id();
            }
            seen.push(call.id.clone());
        }
        let reasoning = Some(self.reasoning).filter(|text| !text.is_empty());
        Ok(Answer { content: self.content, reasoning, tool_calls: self.calls, finish, usage: self.usage })
    }
}

/// An id that no other call of a session has, also after a restart.
fn fresh_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("call_{:x}_{}", now.as_micros(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_sent_in_letters_that_everybody_takes() {
        let long = format!("{}end", "x".repeat(100));
        for (why, name, want) in [
            ("a good one", "call_1-A", "call_1-A".to_owned()),
            ("spaces and dots", "read file.now", "read_file_now".to_owned()),
            ("nothing", "", "unknown".to_owned()),
            ("letters of elsewhere", "é🦀", "__".to_owned()),
            ("too long", &long, format!("{}end", "x".repeat(61))),
        ] {
            assert_eq!(sanitize_name(name), want, "{why}");
        }
    }

    #[test]
    fn arguments_come_as_text_or_object_and_go_as_an_object() {
        for (why, value, want) in [
            ("text", json!("{\"a\":1}"), "{\"a\":1}"),
            ("an object", json!({"a": 1}), "{\"a\":1}"),
            ("nothing", Value::Null, "{}"),
            ("empty text", json!(" "), "{}"),
            ("half a text stays as it is", json!("{\"a\":"), "{\"a\":"),
        ] {
            assert_eq!(arguments(Some(&value)), want, "{why}");
        }
        assert_eq!(Value::Object(object("{\"a\":1}")), json!({"a": 1}));
        assert_eq!(Value::Object(object("{\"a\":")), json!({"raw": "{\"a\":"}), "what is no object is kept");
        assert_eq!(Value::Object(object("")), json!({}));
    }

    #[test]
    fn an_answer_that_was_cut_calls_nothing() {
        let call = |id: &str| ToolCall { id: id.into(), name: "exec".into(), arguments: "{}".into() };
        let parts = |ids: &[&str]| AnswerParts {
            calls: ids.iter().map(|id| call(id)).collect(),
            ..AnswerParts::default()
        };
        for (why, finish, want, calls) in [
            ("cut at its length", Finish::Length, Finish::Length, 0),
            (
                "cut by a filter",
                Finish::Other("content_filter".into()),
                Finish::Other("content_filter".into()),
                0,
            ),
            ("said to stop, with a call", Finish::Stop, Finish::ToolCalls, 1),
            ("a word of its own", Finish::Other("eos".into()), Finish::ToolCalls, 1),
        ] {
            let answer = parts(&["a"]).finish(finish).unwrap();
            assert_eq!((answer.finish, answer.tool_calls.len()), (want, calls), "{why}");
        }
        let answer = parts(&["", "a", "a"]).finish(Finish::ToolCalls).unwrap();
        let mut ids: Vec<_> = answer.tool_calls.iter().map(|call| call.id.clone()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 3, "every call has an id of its own: {ids:?}");
        assert!(ids.iter().all(|id| !id.is_empty()));
        assert!(parts(&["x"; MAX_CALLS + 1]).finish(Finish::Stop).is_err(), "a flood of calls");
    }
}
