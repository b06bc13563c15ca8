//! Replies as MCP spells them: text for the model, the same as structured content, and a mark on what went wrong.
//!
//! Invariant: a refusal is a tool error whose structured content is `{code, rule, layer, hint}`.

use crate::call::Reply;
use picoclaw_policy::Refusal;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

/// How the line of a file begins in a listing.
pub(super) const FILE: &str = "FILE: ";

/// A line of a listing: names are escaped in it, so a line is an entry.
pub(super) enum Line<'t> {
    File(&'t str),
    Directory(&'t str),
    /// About the listing itself.
    Note,
}

/// What a line of a listing names.
pub(super) fn kind_of(line: &str) -> Line<'_> {
    if let Some(name) = line.strip_prefix(FILE) {
        return Line::File(name);
    }
    line.strip_prefix("DIR: ").map_or(Line::Note, Line::Directory)
}

/// The result of a registry tool.
pub(super) fn of_reply(tool: &str, reply: Reply) -> CallToolResult {
    match reply {
        Reply::Done(text) => {
            let structured = match tool {
                "list_dir" => listing(&text),
                "exec" => command(&text),
                _ => json!({"text": text}),
            };
            result(text, structured, Went::Well)
        }
        Reply::Failed(text) => {
            let structured = json!({"text": text});
            result(text, structured, Went::Wrong)
        }
        Reply::Ended { how, text } => {
            let mut structured = json!({"text": text, "outcome": how});
            let code =
                how.strip_prefix("Command exited with code ").and_then(|code| code.parse::<i64>().ok());
            if let Some(code) = code {
                structured["exitCode"] = json!(code);
            }
            result(text, structured, Went::Wrong)
        }
        Reply::Refused(no) | Reply::NeedsApproval(no) => refused(&no),
    }
}

/// A no.
pub(super) fn refused(no: &Refusal) -> CallToolResult {
    let structured =
        json!({"code": no.code.as_str(), "rule": no.rule, "layer": no.layer.as_str(), "hint": no.hint});
    result(no.to_string(), structured, Went::Wrong)
}

/// Something that the server answers by itself.
pub(super) fn told(text: String, structured: Value) -> CallToolResult {
    result(text, structured, Went::Well)
}

enum Went {
    Well,
    Wrong,
}

fn result(text: String, structured: Value, went: Went) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    let mut result = match went {
        Went::Well => CallToolResult::success(content),
        Went::Wrong => CallToolResult::error(content),
    };
    result.structured_content = Some(structured);
    result
}

/// The lines of a listing, taken apart.
fn listing(text: &str) -> Value {
    let (mut files, mut directories, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        match kind_of(line) {
            Line::File(name) => files.push(Value::from(name)),
            Line::Directory(name) => directories.push(Value::from(name)),
            Line::Note => notes.push(line),
        }
    }
    let mut structured = json!({"files": Value::Array(files), "directories": Value::Array(directories)});
    if !notes.is_empty() {
        structured["note"] = json!(notes.join("\n"));
    }
    structured
}

/// A command's output, or the standing of a background session, whose reply is an object already.
fn command(text: &str) -> Value {
    const KEYS: [&str; 5] = ["sessionId", "status", "exitCode", "output", "sessions"];
    let standing = serde_json::from_str::<Map<String, Value>>(text).ok();
    // Output that only looks like one of our objects has keys that we never write, or lacks ours.
    let standing = standing.filter(|object| {
        (object.contains_key("sessionId") || object.contains_key("sessions"))
            && object.keys().all(|key| KEYS.contains(&key.as_str()))
    });
    match standing {
        Some(mut object) => {
            object.insert("text".to_owned(), json!(text));
            Value::Object(object)
        }
        None => json!({"text": text, "exitCode": 0}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::{Code, Layer};

    #[test]
    fn every_reply_has_a_text_and_its_structure() {
        let no = Refusal {
            code: Code::OutsideWorkspace,
            sentence: "access denied".to_owned(),
            rule: "workspace".to_owned(),
            layer: Layer::Desk,
            hint: "add a rule".to_owned(),
        };
        for (why, tool, reply, error, want) in [
            ("text", "read_file", Reply::Done("x\n".into()), false, json!({"text": "x\n"})),
            ("failed", "read_file", Reply::Failed("no".into()), true, json!({"text": "no"})),
            (
                "refused",
                "read_file",
                Reply::Refused(no),
                true,
                json!({"code": "outside_workspace", "rule": "workspace", "layer": "desk", "hint": "add a rule"}),
            ),
            (
                "a listing",
                "list_dir",
                Reply::Done("DIR: a\nFILE: b: c\n[truncated: …]".into()),
                false,
                json!({"directories": ["a"], "files": ["b: c"], "note": "[truncated: …]"}),
            ),
            ("output", "exec", Reply::Done("hi".into()), false, json!({"text": "hi", "exitCode": 0})),
            (
                "a session",
                "exec",
                Reply::Done(r#"{"sessionId":"1","status":"running"}"#.into()),
                false,
                json!({"sessionId": "1", "status": "running", "text": r#"{"sessionId":"1","status":"running"}"#}),
            ),
            (
                "output that is JSON by itself",
                "exec",
                Reply::Done(r#"{"a":1}"#.into()),
                false,
                json!({"text": r#"{"a":1}"#, "exitCode": 0}),
            ),
            (
                "ended badly",
                "exec",
                Reply::Ended { how: "Command exited with code 3".into(), text: "[…]".into() },
                true,
                json!({"text": "[…]", "outcome": "Command exited with code 3", "exitCode": 3}),
            ),
        ] {
            let text = reply.text();
            let result = of_reply(tool, reply);
            assert_eq!(result.is_error, Some(error), "{why}");
            assert_eq!(result.structured_content, Some(want), "{why}");
            assert_eq!(result.content[0].as_text().map(|block| block.text.clone()), Some(text), "{why}");
        }
    }
}
