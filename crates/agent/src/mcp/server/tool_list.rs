//! The tools as `tools/list` describes them. An annotation holds for the worst call that the tool
//! accepts.

use super::builtin_tools;
use crate::tools::{self, Registry};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// Title and annotations of a tool.
struct ToolHints {
    title: &'static str,
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

/// All tools, sorted by name.
pub(super) fn tool_list(registry: &Registry) -> Vec<Tool> {
    let mut tools: Vec<Tool> = registry.tools().map(registry_tool).collect();
    tools.push(describe(
        builtin_tools::CHECK,
        builtin_tools::CHECK_ABOUT,
        builtin_tools::check_schema(),
        findings_schema(),
    ));
    tools.push(describe(
        builtin_tools::POLICY,
        builtin_tools::POLICY_ABOUT,
        builtin_tools::policy_schema(),
        json!({"type": "object"}),
    ));
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

fn registry_tool(tool: &dyn tools::Tool) -> Tool {
    let output = match tool.name() {
        "list_dir" => output_schema(
            json!({
                "directories": {"type": "array", "items": {"type": "string"}},
                "files": {"type": "array", "items": {"type": "string"}},
                "note": {"type": "string", "description": "How to go on, when there is more."},
            }),
            "files",
        ),
        "exec" => output_schema(
            json!({
                "exitCode": {"type": "integer"},
                "outcome": {"type": "string", "description": "How the command ended, when not with 0."},
                "sessionId": {"type": "string", "description": "The handle of a background command."},
                "status": {"enum": ["running", "done"]},
                "output": {"type": "string"},
                "sessions": {"type": "array", "items": {"type": "object"}},
            }),
            "text",
        ),
        _ => output_schema(json!({}), "text"),
    };
    describe(tool.name(), tool.about(), tool.schema(), output)
}

fn describe(name: &str, about: &str, input: Value, output: Value) -> Tool {
    let hints = hints(name);
    let annotations = ToolAnnotations::with_title(hints.title)
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Tool::new(name.to_owned(), about.to_owned(), object(input))
        .with_title(hints.title)
        .with_raw_output_schema(Arc::new(object(output)))
        .with_annotations(annotations)
}

/// The schema of structured content: a result, which has the member `found`, or a refusal.
fn output_schema(extra: Value, found: &str) -> Value {
    let mut properties = json!({
        "text": {"type": "string"},
        "code": {"type": "string", "description": "Why it was refused, for programs."},
        "rule": {"type": "string", "description": "The rule that refused."},
        "layer": {"type": "string", "description": "The layer that refused."},
        "hint": {"type": "string", "description": "The smallest setting that would allow it."},
    });
    if let (Some(properties), Value::Object(extra)) = (properties.as_object_mut(), extra) {
        properties.extend(extra);
    }
    let mut shapes =
        vec![json!({"required": [found]}), json!({"required": ["code", "rule", "layer", "hint"]})];
    if found != "text" {
        shapes.push(json!({"required": ["text"]}));
    }
    json!({"type": "object", "properties": properties, "anyOf": shapes})
}

fn findings_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "verdict": {"enum": ["allow", "ask", "deny"]},
            "rule": {"type": "string"},
            "code": {"type": "string"},
            "layer": {"type": "string"},
            "sentence": {"type": "string"},
            "hint": {"type": "string"},
        },
        "required": ["rule"],
    })
}

fn hints(name: &str) -> ToolHints {
    let reading =
        |title| ToolHints { title, read_only: true, destructive: false, idempotent: true, open_world: false };
    let writing = |title, destructive, idempotent| ToolHints {
        title,
        read_only: false,
        destructive,
        idempotent,
        open_world: false,
    };
    match name {
        "read_file" => reading("Read a file"),
        "list_dir" => reading("List a directory"),
        builtin_tools::CHECK => reading("Ask what would be allowed"),
        builtin_tools::POLICY => reading("Show what this agent may do"),
        "append_file" => writing("Append to a file", false, false),
        // A second identical edit fails, or changes another occurrence.
        "edit_file" => writing("Edit a file", true, false),
        "write_file" => writing("Write a file", true, true),
        "web_fetch" => ToolHints { open_world: true, ..reading("Fetch from the web") },
        "exec" => ToolHints { open_world: true, ..writing("Run a command", true, false) },
        // Unknown: assume the worst.
        _ => ToolHints { open_world: true, ..writing("", true, false) },
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::config::Config;
    use picoclaw_sandbox::Redactor;

    #[test]
    fn each_tool_says_what_its_worst_call_does() {
        let tools = tool_list(&Registry::new(&Config::default().tools, Redactor::default()));
        let listed: Vec<_> = tools
            .iter()
            .map(|tool| {
                let marks = tool.annotations.clone().unwrap();
                let marks = [
                    marks.read_only_hint,
                    marks.destructive_hint,
                    marks.idempotent_hint,
                    marks.open_world_hint,
                ];
                (&*tool.name, marks.map(|mark| mark.unwrap()))
            })
            .collect();
        // Reads only, destroys, does no more the second time, reaches out.
        let want = [
            ("append_file", [false, false, false, false]),
            ("check", [true, false, true, false]),
            ("edit_file", [false, true, false, false]),
            ("exec", [false, true, false, true]),
            ("list_dir", [true, false, true, false]),
            ("policy", [true, false, true, false]),
            ("read_file", [true, false, true, false]),
            ("web_fetch", [true, false, true, true]),
            ("write_file", [false, true, true, false]),
        ];
        assert_eq!(listed, want);
    }
}
