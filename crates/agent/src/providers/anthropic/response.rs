//! A whole response of the messages API. Blocks of unknown kinds are ignored.

use crate::message::ToolCall;
use crate::providers::http::malformed;
use crate::providers::provider::{Answer, Finish, ProviderError, Usage};
use crate::providers::sanitize::{self, AnswerParts};
use serde_json::Value;

/// Parses a response.
pub(super) fn parse(document: &Value) -> Result<Answer, ProviderError> {
    let blocks = document
        .get("content")
        .and_then(Value::as_array)
        .ok_or_else(|| malformed("it holds no `content`"))?;
    let mut parts = AnswerParts { usage: usage(document, Usage::default()), ..AnswerParts::default() };
    for block in blocks {
        match kind(block) {
            "text" => parts.content.push_str(string(block, "text")),
            "thinking" => parts.reasoning.push_str(string(block, "thinking")),
            "tool_use" => parts.calls.push(call(block)),
            _ => {}
        }
    }
    parts.finish(finish(document.get("stop_reason").and_then(Value::as_str)))
}

/// The type of a block or an event.
pub(super) fn kind(value: &Value) -> &str {
    string(value, "type")
}

/// A string in a block.
pub(super) fn string<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A call in a block.
pub(super) fn call(block: &Value) -> ToolCall {
    ToolCall {
        id: string(block, "id").to_owned(),
        name: string(block, "name").to_owned(),
        arguments: sanitize::arguments(block.get("input")),
    }
}

/// The reason why it stopped.
pub(super) fn finish(reason: Option<&str>) -> Finish {
    match reason.unwrap_or("end_turn") {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        other => Finish::Other(other.to_owned()),
    }
}

/// The usage; later values of a stream replace earlier ones.
pub(super) fn usage(document: &Value, before: Usage) -> Usage {
    let Some(usage) = document.get("usage").filter(|usage| usage.is_object()) else { return before };
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let cached: u64 = cached.iter().filter_map(|name| count(name)).sum();
    Usage {
        input: count("input_tokens").map_or(before.input, |input| input.saturating_add(cached)),
        output: count("output_tokens").unwrap_or(before.output),
    }
}
