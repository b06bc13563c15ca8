//! Tool results: text for the model, the same as structured content, and the error flag. A refusal
//! is a tool error whose structured content is `{code, rule, layer, hint}`.

use crate::call::Reply;
use picoclaw_policy::Refusal;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

/// The result of a registry tool.
pub(super) fn reply_result(tool: &str, reply: Reply) -> CallToolResult {
    match reply {
        Reply::Done(text) => {
            let structured = match tool {
                "list_dir" => listing_json(&text),
                "exec" => exec_json(&text),
                _ => json!({"text": text}),
            };
            success(text, structured)
        }
        Reply::Failed(text) => {
            let structured = json!({"text": text});
            failure(text, structured)
        }
        Reply::Ended { how, text } => {
            let mut structured = json!({"text": text, "outcome": how});
            let code =
                how.strip_prefix("Command exited with code ").and_then(|code| code.parse::<i64>().ok());
            if let Some(code) = code {
                structured["exitCode"] = json!(code);
            }
            failure(text, structured)
        }
        Reply::Refused(no) | Reply::NeedsApproval(no) => refusal_result(&no),
    }
}

/// The result of a refused call.
pub(super) fn refusal_result(no: &Refusal) -> CallToolResult {
    failure(no.to_string(), no.to_json())
}

/// A successful result.
pub(super) fn success(text: String, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

fn failure(text: String, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

/// The lines of a listing. Names are escaped in it, so that each line is one entry.
fn listing_json(text: &str) -> Value {
    let (mut files, mut directories, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("FILE: ") {
            files.push(name);
        } else if let Some(name) = line.strip_prefix("DIR: ") {
            directories.push(name);
        } else {
            notes.push(line);
        }
    }
    let mut structured = json!({"files": files, "directories": directories});
    if !notes.is_empty() {
        structured["note"] = json!(notes.join("\n"));
    }
    structured
}

/// A command's output, or the state of a background session, whose reply is a JSON object.
fn exec_json(text: &str) -> Value {
    const KEYS: [&str; 5] = ["sessionId", "status", "exitCode", "output", "sessions"];
    let session = serde_json::from_str::<Map<String, Value>>(text).ok();
    // Output that happens to be JSON has other keys, or lacks these.
    let session = session.filter(|object| {
        (object.contains_key("sessionId") || object.contains_key("sessions"))
            && object.keys().all(|key| KEYS.contains(&key.as_str()))
    });
    match session {
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
            layer: Layer::Policy,
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
                json!({"code": "outside_workspace", "rule": "workspace", "layer": "policy", "hint": "add a rule"}),
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
            let result = reply_result(tool, reply);
            assert_eq!(result.is_error, Some(error), "{why}");
            assert_eq!(result.structured_content, Some(want), "{why}");
            assert_eq!(result.content[0].as_text().map(|block| block.text.clone()), Some(text), "{why}");
        }
    }
}
