//! Requests of chat completions. `extra_body` overrides every other field.

use super::stream::StreamAssembler;
use crate::message::{Message, Role};
use crate::providers::http::{Mode, WireFormat};
use crate::providers::provider::{Answer, ProviderError, Request, ToolSpec};
use crate::providers::sanitize::{self, sanitize_name};
use picoclaw_policy::config::ModelConfig;
use serde_json::{Map, Value, json};

/// The wire format.
pub(in crate::providers) struct OpenAi {
    model: String,
    length_field: String,
    extra: Map<String, Value>,
}

impl OpenAi {
    /// For the model `id` of an entry.
    pub(in crate::providers) fn new(entry: &ModelConfig, id: &str) -> Self {
        let configured = entry.max_tokens_field.clone().filter(|field| !field.trim().is_empty());
        Self {
            model: id.to_owned(),
            length_field: configured.unwrap_or_else(|| length_field(id).to_owned()),
            extra: entry.extra_body.clone(),
        }
    }
}

impl WireFormat for OpenAi {
    type Assembler = StreamAssembler;

    fn body(&self, request: &Request, mode: Mode) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.model));
        body.insert("messages".to_owned(), request.messages.iter().map(message).collect());
        if !request.tools.is_empty() {
            body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
            body.insert("tool_choice".to_owned(), json!("auto"));
        }
        if request.max_tokens > 0 {
            body.insert(self.length_field.clone(), json!(request.max_tokens));
        }
        if let Some(temperature) = request.temperature {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        if mode == Mode::Stream {
            body.insert("stream".to_owned(), json!(true));
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        body.extend(self.extra.clone());
        if mode == Mode::Whole && body.contains_key("stream") {
            // `extra_body` must not turn streaming on again.
            body.insert("stream".to_owned(), json!(false));
            body.remove("stream_options");
        }
        Value::Object(body)
    }

    fn parse(&self, document: &Value) -> Result<Answer, ProviderError> {
        super::response::parse(document)
    }

    fn assembler(&self) -> StreamAssembler {
        StreamAssembler::default()
    }
}

/// The field for the longest answer; newer models have another one.
fn length_field(id: &str) -> &'static str {
    let id = id.to_ascii_lowercase();
    let bare = id.rsplit('/').next().unwrap_or(&id);
    let is_newer = ["glm", "o1", "gpt-5"].iter().any(|part| id.contains(part))
        || ["o3", "o4"].iter().any(|start| bare.starts_with(start));
    if is_newer { "max_completion_tokens" } else { "max_tokens" }
}

fn message(message: &Message) -> Value {
    let mut out = Map::new();
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    out.insert("role".to_owned(), json!(role));
    out.insert("content".to_owned(), json!(message.content));
    if let Some(id) = &message.tool_call_id {
        out.insert("tool_call_id".to_owned(), json!(sanitize_name(id)));
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            // Some servers reject every request that contains incomplete JSON.
            let arguments = Value::Object(sanitize::object(&call.arguments)).to_string();
            json!({"id": sanitize_name(&call.id), "type": "function",
                "function": {"name": sanitize_name(&call.name), "arguments": arguments}})
        });
        out.insert("tool_calls".to_owned(), calls.collect());
        if let Some(reasoning) = &message.reasoning_content {
            out.insert("reasoning_content".to_owned(), json!(reasoning));
        }
    }
    Value::Object(out)
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_answer_goes_by_the_name_the_model_knows() {
        for (id, want) in [
            ("gpt-4o", "max_tokens"),
            ("llama3", "max_tokens"),
            ("gpt-5-mini", "max_completion_tokens"),
            ("o1-preview", "max_completion_tokens"),
            ("openai/o3-mini", "max_completion_tokens"),
            ("o4-mini", "max_completion_tokens"),
            ("GLM-4", "max_completion_tokens"),
            ("phi-o3x", "max_tokens"),
        ] {
            assert_eq!(length_field(id), want, "{id}");
        }
    }
}
