//! The messages of a conversation, as sessions store them and providers send them.

use serde::{Deserialize, Serialize};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The instructions.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool, in answer to a call.
    Tool,
}

/// One message; a line of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    #[serde(default)]
    pub content: String,
    /// The tool calls of a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The model's reasoning. Some models want it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// The time, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
}

impl Message {
    /// A message of text alone.
    pub fn text(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning_content: None,
            model_name: None,
            created_at: None,
        }
    }

    /// The message with every text replaced by `map` of it.
    #[must_use]
    pub fn map_text(self, map: impl Fn(String) -> String) -> Self {
        let call = |call: ToolCall| ToolCall {
            id: map(call.id),
            name: map(call.name),
            arguments: map(call.arguments),
        };
        Self {
            content: map(self.content),
            tool_calls: self.tool_calls.into_iter().map(call).collect(),
            tool_call_id: self.tool_call_id.map(&map),
            reasoning_content: self.reasoning_content.map(&map),
            ..self
        }
    }

    /// The result of the tool call `id`.
    pub fn result(id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { tool_call_id: Some(id.into()), ..Self::text(Role::Tool, content) }
    }
}

/// A tool call as a model wrote it, unchecked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WireCall", into = "WireCall")]
pub struct ToolCall {
    /// The id that the model gave it.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

/// The shape on disk and on the wire.
#[derive(Serialize, Deserialize)]
struct WireCall {
    #[serde(default)]
    id: String,
    #[serde(rename = "type", default = "function")]
    kind: String,
    function: WireFunction,
}

#[derive(Serialize, Deserialize)]
struct WireFunction {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: String,
}

fn function() -> String {
    "function".to_owned()
}

impl From<WireCall> for ToolCall {
    fn from(call: WireCall) -> Self {
        Self { id: call.id, name: call.function.name, arguments: call.function.arguments }
    }
}

impl From<ToolCall> for WireCall {
    fn from(call: ToolCall) -> Self {
        let function = WireFunction { name: call.name, arguments: call.arguments };
        Self { id: call.id, kind: self::function(), function }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_comes_back_from_disk_as_it_was() {
        let call = ToolCall { id: "c1".into(), name: "exec".into(), arguments: r#"{"command":"ls"}"#.into() };
        let message = Message { tool_calls: vec![call], ..Message::text(Role::Assistant, "so") };
        let line = serde_json::to_value(&message).unwrap();
        let want = json!({"role": "assistant", "content": "so", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "exec", "arguments": "{\"command\":\"ls\"}"}}]});
        assert_eq!(line, want);
        assert_eq!(serde_json::from_value::<Message>(line).unwrap(), message);
    }
}
