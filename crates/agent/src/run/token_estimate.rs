//! A rough estimate of tokens: two fifths of the characters.

use crate::message::Message;
use crate::providers::ToolSpec;

/// The overhead of a message, in characters.
const MESSAGE_OVERHEAD: usize = 12;

/// The overhead of a tool, in characters.
const TOOL_OVERHEAD: usize = 20;

/// The tokens of a text.
pub(super) fn of_text(text: &str) -> u64 {
    tokens(text.chars().count())
}

/// The tokens of a message.
pub(super) fn of_message(message: &Message) -> u64 {
    let calls = message.tool_calls.iter().map(|call| {
        [&call.id, &call.name, &call.arguments].map(|text| text.chars().count()).iter().sum::<usize>()
    });
    let id = message.tool_call_id.as_ref().map_or(0, |id| id.chars().count());
    let reasoning = message.reasoning_content.as_ref().map_or(0, |text| text.chars().count());
    tokens(MESSAGE_OVERHEAD + message.content.chars().count() + calls.sum::<usize>() + id + reasoning)
}

/// The tokens of tool specifications.
pub(super) fn of_tools(tools: &[ToolSpec]) -> u64 {
    let one = |tool: &ToolSpec| {
        let schema = tool.parameters.to_string();
        tool.name.chars().count() + tool.description.chars().count() + schema.chars().count() + TOOL_OVERHEAD
    };
    tools.iter().map(|tool| tokens(one(tool))).sum()
}

fn tokens(characters: usize) -> u64 {
    characters as u64 * 2 / 5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Role, ToolCall};

    #[test]
    fn an_estimate_counts_everything_that_is_sent() {
        let plain = Message::text(Role::User, "x".repeat(88));
        assert_eq!(of_message(&plain), 40, "100 characters with the frame");
        let call = ToolCall { id: "1234567890".into(), name: "exec".into(), arguments: "{}".into() };
        let calling = Message { tool_calls: vec![call], ..plain.clone() };
        assert_eq!(of_message(&calling), 46, "and 16 of the call");
        assert_eq!(of_message(&Message::result("1234567890", "x".repeat(88))), 44, "and 10 of the id");
        assert_eq!(of_text("ééééé"), 2, "characters, not bytes");
    }
}
