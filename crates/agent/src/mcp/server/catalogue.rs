//! The tools as a client is shown them: schemas both ways, and honest annotations.
//!
//! Invariant: what an annotation says of a tool is true of the worst call that it accepts.

use super::served;
use crate::tools::{Registry, Tool as Built, schema_of};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a client may know before it calls.
struct Manner {
    title: &'static str,
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

/// Every tool that there is to offer, in the order of their names.
pub(super) fn all(registry: &Registry) -> Vec<Tool> {
    let mut tools: Vec<Tool> = registry.tools().map(built).collect();
    tools.push(tool(served::CHECK, served::CHECK_ABOUT, served::check_schema(), findings()));
    tools.push(tool(
        served::POLICY,
        served::POLICY_ABOUT,
        served::policy_schema(),
        json!({"type": "object"}),
    ));
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

fn built(built: &dyn Built) -> Tool {
    let output = match built.name() {
        "list_dir" => output(
            json!({
                "directories": {"type": "array", "items": {"type": "string"}},
                "files": {"type": "array", "items": {"type": "string"}},
                "note": {"type": "string", "description": "How to go on, when there is more."},
            }),
            "files",
        ),
        "exec" => output(
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
        _ => output(json!({}), "text"),
    };
    tool(built.name(), built.about(), schema_of(built), output)
}

fn tool(name: &str, about: &str, input: Value, output: Value) -> Tool {
    let manner = manner(name);
    let annotations = ToolAnnotations::with_title(manner.title)
        .read_only(manner.read_only)
        .destructive(manner.destructive)
        .idempotent(manner.idempotent)
        .open_world(manner.open_world);
    Tool::new(name.to_owned(), about.to_owned(), object(input))
        .with_title(manner.title)
        .with_raw_output_schema(Arc::new(object(output)))
        .with_annotations(annotations)
}

/// The structured content of a tool: what it found, or why it was refused.
fn output(extra: Value, found: &str) -> Value {
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

fn findings() -> Value {
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

fn manner(name: &str) -> Manner {
    let reading =
        |title| Manner { title, read_only: true, destructive: false, idempotent: true, open_world: false };
    let writing = |title, destructive, idempotent| Manner {
        title,
        read_only: false,
        destructive,
        idempotent,
        open_world: false,
    };
    match name {
        "read_file" => reading("Read a file"),
        "list_dir" => reading("List a directory"),
        served::CHECK => reading("Ask what would be allowed"),
        served::POLICY => reading("Show what this agent may do"),
        "append_file" => writing("Append to a file", false, false),
        // The second time, the old text is not there any more, or it is there again and changes again.
        "edit_file" => writing("Edit a file", true, false),
        "write_file" => writing("Write a file", true, true),
        "web_fetch" => Manner { open_world: true, ..reading("Fetch from the web") },
        "exec" => Manner { open_world: true, ..writing("Run a command", true, false) },
        // Nothing is known about it, so the worst is said of it.
        _ => Manner { open_world: true, ..writing("", true, false) },
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
        let tools = all(&Registry::new(&Config::default().tools, Redactor::default()));
        let told: Vec<_> = tools
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
        assert_eq!(told, want);
    }
}
