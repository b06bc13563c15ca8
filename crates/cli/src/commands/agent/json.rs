//! `--json`: one object per line, each with a `type`. The last one is `answer` or `error`.

use crate::print;
use picoclaw_agent::call::Reply;
use picoclaw_agent::run::SubagentEvent;
use picoclaw_agent::run::{Event, TurnOutcome};
use picoclaw_sandbox::printable_json;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

/// Prints a line without control characters.
pub(super) fn print(line: &Value) -> io::Result<()> {
    print::line(&printable_json(line)?)
}

/// The line for an event, if any.
pub(super) fn event_json(event: &Event) -> Option<Value> {
    match event {
        Event::ToolCall { id, tool, arguments } => {
            Some(json!({"type": "tool_call", "id": id, "tool": tool, "arguments": arguments}))
        }
        Event::ToolResult { id, tool, reply, took } => Some(result_json(id, tool, reply, *took)),
        Event::Subagent { info: who, event: SubagentEvent::Event(event) } => {
            let mut line = event_json(event)?;
            // Without this field it would look like a call of the agent itself.
            let fields = line.as_object_mut()?;
            fields.insert("subagent".to_owned(), who.id.as_str().into());
            fields.insert("label".to_owned(), who.label.as_str().into());
            fields.insert("agent".to_owned(), who.agent.as_str().into());
            fields.insert("depth".to_owned(), who.depth.into());
            Some(line)
        }
        _ => None,
    }
}

fn result_json(id: &str, tool: &str, reply: &Reply, took: Duration) -> Value {
    let mut line = json!({
        "type": "tool_result",
        "id": id,
        "tool": tool,
        "ok": matches!(reply, Reply::Done(_)),
        "text": reply.text(),
        "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    if let (Reply::Refused(no) | Reply::NeedsApproval(no), Some(fields)) = (reply, line.as_object_mut()) {
        fields.insert("refusal".to_owned(), no.to_json());
    }
    line
}

/// The last line of a successful turn.
pub(super) fn ending_json(ending: &TurnOutcome) -> Value {
    json!({
        "type": "answer",
        "text": ending.answer,
        "model": ending.model,
        "usage": {"input_tokens": ending.usage.input, "output_tokens": ending.usage.output},
        "rounds": ending.rounds,
    })
}

/// The last line of a failed turn.
pub(super) fn error_json(message: &str) -> Value {
    json!({"type": "error", "message": message})
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::{Code, Layer, Refusal};

    #[test]
    fn a_refusal_is_told_with_its_reasons() {
        let refusal = Refusal {
            code: Code::OutsideWorkspace,
            sentence: "access denied: path is outside the workspace".to_owned(),
            rule: "workspace".to_owned(),
            layer: Layer::Policy,
            hint: "add a rule".to_owned(),
        };
        let event = Event::ToolResult {
            id: "c1".to_owned(),
            tool: "read_file".to_owned(),
            reply: Reply::Refused(refusal),
            took: Duration::from_millis(3),
        };
        let want = json!({"type": "tool_result", "id": "c1", "tool": "read_file", "ok": false, "duration_ms": 3,
            "text": "access denied: path is outside the workspace\nhint: add a rule",
            "refusal": {"code": "outside_workspace", "rule": "workspace", "layer": Layer::Policy.as_str(), "hint": "add a rule"}});
        assert_eq!(event_json(&event).unwrap(), want);
        assert!(event_json(&Event::Text("piece".to_owned())).is_none(), "pieces are no lines");
    }
}
