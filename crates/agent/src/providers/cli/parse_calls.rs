//! Parses tool calls in the text of a reply: the whole reply or its only fenced block, never prose.

use crate::message::ToolCall;
use crate::providers::sanitize;
use serde::Deserialize;
use serde_json::Value;

/// A reply, parsed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedReply {
    /// The text around the calls.
    pub(super) text: String,
    /// The calls in it.
    pub(super) calls: Vec<ToolCall>,
}

/// Parses a reply.
pub(super) fn parse_reply(reply: &str) -> ParsedReply {
    if let Some(calls) = parse(reply) {
        return ParsedReply { text: String::new(), calls };
    }
    if let Some(block) = only_block(reply)
        && let Some(calls) = parse(block.inside)
    {
        let around = [block.before.trim(), block.after.trim()];
        let around: Vec<&str> = around.into_iter().filter(|text| !text.is_empty()).collect();
        return ParsedReply { text: around.join("\n\n"), calls };
    }
    ParsedReply { text: reply.trim().to_owned(), calls: Vec::new() }
}

#[derive(Deserialize)]
struct JsonReply {
    tool_calls: Vec<JsonCall>,
}

/// A call, nested as the template says or flat as some models write it.
#[derive(Deserialize)]
struct JsonCall {
    #[serde(default)]
    id: String,
    #[serde(default)]
    function: Option<JsonFunction>,
    #[serde(flatten)]
    flat: JsonFunction,
}

#[derive(Deserialize, Default)]
struct JsonFunction {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Value,
}

fn parse(text: &str) -> Option<Vec<ToolCall>> {
    let reply: JsonReply = serde_json::from_str(text.trim()).ok()?;
    let calls = reply.tool_calls.into_iter().map(|call| {
        let function = call.function.unwrap_or(call.flat);
        ToolCall {
            id: call.id,
            name: function.name,
            arguments: sanitize::arguments(Some(&function.arguments)),
        }
    });
    Some(calls.collect())
}

struct Block<'r> {
    before: &'r str,
    inside: &'r str,
    after: &'r str,
}

/// The fenced block, when there is exactly one and it is closed.
fn only_block(reply: &str) -> Option<Block<'_>> {
    let mut found: Option<Block<'_>> = None;
    let mut open: Option<(&str, usize, usize)> = None;
    let mut at = 0;
    for line in reply.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        match (open, fence(line)) {
            (None, Some((mark, _))) => open = Some((mark, start, end)),
            // A closing fence is at least as long, of the same kind, and bare.
            (Some((mark, before, inside)), Some((other, ""))) if other.starts_with(mark) => {
                if found.is_some() {
                    return None;
                }
                found = Some(Block {
                    before: &reply[..before],
                    inside: &reply[inside..start],
                    after: &reply[end..],
                });
                open = None;
            }
            _ => {}
        }
    }
    found.filter(|_| open.is_none())
}

/// The marker of a fence, and the text behind it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    ["`", "~"].into_iter().find_map(|kind| {
        let rest = line.trim_start_matches(kind);
        let mark = &line[..line.len() - rest.len()];
        (mark.len() >= 3 && !rest.contains(kind)).then(|| (mark, rest.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn a_call_is_the_whole_reply_or_its_only_fenced_block() {
        let nested = r#"{"tool_calls":[{"id":"1","type":"function","function":{"name":"exec","arguments":"{\"command\":\"ls\"}"}}]}"#;
        let one = || vec![call("1", "exec", r#"{"command":"ls"}"#)];
        let fenced = format!("I look.\n```json\n{nested}\n```\nDone.");
        let tilde = format!("~~~~\n{nested}\n~~~~");
        let twice = format!("```\n{nested}\n```\n```\n{nested}\n```");
        let open = format!("```json\n{nested}\n");
        let prose = format!("To list, one would write {nested} here.");
        let tail = format!("{nested} and more");
        let quoted = format!("> {nested}");
        let brace = r#"{"tool_calls":[{"id":"1","function":{"name":"exec","arguments":"{\"command\":\"echo }}{\"}"}}]}"#;
        for (why, reply, text, calls) in [
            ("the whole reply", nested, "", one()),
            ("with white space", &format!("\n  {nested}\n"), "", one()),
            ("a fenced block, with words around it", &fenced, "I look.\n\nDone.", one()),
            ("another kind of fence", &tilde, "", one()),
            ("braces inside an argument", brace, "", vec![call("1", "exec", r#"{"command":"echo }}{"}"#)]),
            (
                "a space after the brace, arguments as an object, fields to come",
                r#"{ "tool_calls": [{"id":"2","function":{"name":"exec","arguments":{"command":"ls"}},"x":1}], "y": 2}"#,
                "",
                vec![call("2", "exec", r#"{"command":"ls"}"#)],
            ),
            (
                "a flat call without an id",
                r#"{"tool_calls":[{"name":"exec","arguments":{}}]}"#,
                "",
                vec![call("", "exec", "{}")],
            ),
            ("in prose it is only quoted", &prose, prose.as_str(), vec![]),
            ("followed by words", &tail, tail.as_str(), vec![]),
            ("quoted", &quoted, quoted.as_str(), vec![]),
            ("two blocks: which one?", &twice, twice.as_str(), vec![]),
            ("a fence that is not closed", &open, open.trim(), vec![]),
            ("half a JSON", r#"{"tool_calls":[{"id":"#, r#"{"tool_calls":[{"id":"#, vec![]),
            ("no list", r#"{"tool_calls":"exec"}"#, r#"{"tool_calls":"exec"}"#, vec![]),
            ("other JSON", r#"{"answer":1}"#, r#"{"answer":1}"#, vec![]),
            ("words", "hello", "hello", vec![]),
            ("nothing", "", "", vec![]),
        ] {
            assert_eq!(parse_reply(reply), ParsedReply { text: text.to_owned(), calls }, "{why}: {reply}");
        }
    }
}
