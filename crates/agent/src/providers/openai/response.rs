//! A whole response of chat completions. The first choice counts; unknown fields are ignored.

use crate::message::ToolCall;
use crate::providers::http::malformed;
use crate::providers::provider::{Answer, Finish, ProviderError, Usage};
use crate::providers::sanitize::{self, AnswerParts};
use serde_json::Value;

/// Parses a response.
pub(super) fn parse(document: &Value) -> Result<Answer, ProviderError> {
    let choices = document.get("choices").and_then(Value::as_array);
    let choice =
        choices.and_then(|choices| choices.first()).ok_or_else(|| malformed("it holds no `choices`"))?;
    let message = choice.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| malformed("its first choice holds no `message`"))?;
    let mut content = text(message.get("content"));
    if content.is_empty() {
        content = text(message.get("refusal"));
    }
    let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let parts = AnswerParts {
        content,
        reasoning: reasoning(message).to_owned(),
        calls: calls.iter().map(call).collect(),
        usage: usage(document).unwrap_or_default(),
    };
    parts.finish(finish(choice.get("finish_reason").and_then(Value::as_str)))
}

/// The text in `content`, which may also come in parts.
fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

fn call(value: &Value) -> ToolCall {
    let function = value.get("function");
    let string = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    ToolCall {
        id: string(value.get("id")),
        name: string(function.and_then(|function| function.get("name"))),
        arguments: sanitize::arguments(function.and_then(|function| function.get("arguments"))),
    }
}

/// The reasoning, by either of its names.
pub(super) fn reasoning(message: &Value) -> &str {
    let places = ["reasoning_content", "reasoning"];
    places.iter().find_map(|place| message.get(place).and_then(Value::as_str)).unwrap_or_default()
}

/// The reason why it stopped.
pub(super) fn finish(reason: Option<&str>) -> Finish {
    match reason.unwrap_or("stop") {
        "stop" | "end_turn" | "" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" => Finish::Length,
        other => Finish::Other(other.to_owned()),
    }
}

/// The usage.
pub(super) fn usage(document: &Value) -> Option<Usage> {
    let usage = document.get("usage").filter(|usage| usage.is_object())?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
    Some(Usage { input: count("prompt_tokens"), output: count("completion_tokens") })
}
