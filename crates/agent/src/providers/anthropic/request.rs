//! Requests of the messages API: instructions apart, roles alternating, tool results with the user.

use super::stream::StreamAssembler;
use crate::message::{Message, Role};
use crate::providers::http::{Mode, WireFormat};
use crate::providers::provider::{Answer, ProviderError, Request, ToolSpec};
use crate::providers::sanitize::{object, sanitize_name};
use picoclaw_policy::config::ModelConfig;
use serde_json::{Map, Value, json};

/// The longest answer by default; the API requires a number.
const DEFAULT_MAX_TOKENS: u64 = 8192;

/// The wire format.
pub(in crate::providers) struct Anthropic {
    model: String,
    extra: Map<String, Value>,
}

impl Anthropic {
    /// For the model `id` of an entry.
    pub(in crate::providers) fn new(entry: &ModelConfig, id: &str) -> Self {
        Self { model: id.to_owned(), extra: entry.extra_body.clone() }
    }
}

impl WireFormat for Anthropic {
    type Assembler = StreamAssembler;

    fn body(&self, request: &Request, mode: Mode) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.model));
        let tokens = if request.max_tokens == 0 { DEFAULT_MAX_TOKENS } else { request.max_tokens };
        body.insert("max_tokens".to_owned(), json!(tokens));
        let system = system(&request.messages);
        if !system.is_empty() {
            body.insert("system".to_owned(), json!(system));
        }
        body.insert("messages".to_owned(), Value::Array(messages(&request.messages)));
        if !request.tools.is_empty() {
            body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        }
        if let Some(temperature) = request.temperature {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        if mode == Mode::Stream {
            body.insert("stream".to_owned(), json!(true));
        }
        body.extend(self.extra.clone());
        if mode == Mode::Whole && body.contains_key("stream") {
            body.insert("stream".to_owned(), json!(false));
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

fn system(messages: &[Message]) -> String {
    let texts = messages.iter().filter(|message| message.role == Role::System);
    let texts: Vec<&str> =
        texts.map(|message| message.content.trim()).filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

fn messages(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let role = match message.role {
            Role::System => continue,
            Role::Assistant => "assistant",
            Role::User | Role::Tool => "user",
        };
        let blocks = blocks(message);
        match turns.last_mut() {
            Some((last, so_far)) if *last == role => so_far.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

fn blocks(message: &Message) -> Vec<Value> {
    if message.role == Role::Tool {
        let id = sanitize_name(message.tool_call_id.as_deref().unwrap_or_default());
        return vec![json!({"type": "tool_result", "tool_use_id": id, "content": message.content})];
    }
    let mut blocks = Vec::new();
    if !message.content.trim().is_empty() {
        // The API rejects assistant text that ends in white space.
        let text =
            if message.role == Role::Assistant { message.content.trim_end() } else { &message.content };
        blocks.push(json!({"type": "text", "text": text}));
    }
    for call in &message.tool_calls {
        let (id, name) = (sanitize_name(&call.id), sanitize_name(&call.name));
        blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": object(&call.arguments)}));
    }
    blocks
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}
