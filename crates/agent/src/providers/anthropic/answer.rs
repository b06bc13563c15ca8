//! A whole answer of the messages interface.
//!
//! Invariant: text and calls are taken, thoughts are told apart, and blocks of other kinds are passed over.

use crate::message::ToolCall;
use crate::providers::http::malformed;
use crate::providers::provider::{Answer, Finish, ProviderError, Usage};
use crate::providers::spelling::{self, Parts};
use serde_json::Value;

/// Reads a document.
pub(super) fn whole(document: &Value) -> Result<Answer, ProviderError> {
    let blocks = document
        .get("content")
        .and_then(Value::as_array)
        .ok_or_else(|| malformed("it holds no `content`"))?;
    let mut parts = Parts { usage: usage(document, Usage::default()), ..Parts::default() };
    for block in blocks {
        match kind(block) {
            "text" => parts.content.push_str(word(block, "text")),
            "thinking" => parts.reasoning.push_str(word(block, "thinking")),
            "tool_use" => parts.calls.push(call(block)),
            _ => {}
        }
    }
    parts.finish(finish(document.get("stop_reason").and_then(Value::as_str)))
}

/// A block's kind, or an event's.
pub(super) fn kind(value: &Value) -> &str {
    word(value, "type")
}

/// A text in a block.
pub(super) fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A call in a block.
pub(super) fn call(block: &Value) -> ToolCall {
    ToolCall {
        id: word(block, "id").to_owned(),
        name: word(block, "name").to_owned(),
        arguments: spelling::arguments(block.get("input")),
    }
}

/// Why it stopped.
pub(super) fn finish(reason: Option<&str>) -> Finish {
    match reason.unwrap_or("end_turn") {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        other => Finish::Other(other.to_owned()),
    }
}

/// What it cost so far: what a stream says later replaces what it said before.
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
