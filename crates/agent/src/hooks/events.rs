//! The events that observers receive, and the patterns by which they select them.

use crate::call::Reply;
use serde_json::{Value, json};
use std::time::Duration;

/// The kinds of events with their older short names.
const KINDS: &[(&str, &str)] = &[
    ("agent.turn.start", "turn_start"),
    ("agent.turn.end", "turn_end"),
    ("agent.llm.request", "llm_request"),
    ("agent.llm.delta", "llm_delta"),
    ("agent.llm.response", "llm_response"),
    ("agent.llm.retry", "llm_retry"),
    ("agent.context.compress", "context_compress"),
    ("agent.session.summarize", "session_summarize"),
    ("agent.tool.exec_start", "tool_exec_start"),
    ("agent.tool.exec_end", "tool_exec_end"),
    ("agent.tool.exec_skipped", "tool_exec_skipped"),
    ("agent.steering.injected", "steering_injected"),
    ("agent.follow_up.queued", "follow_up_queued"),
    ("agent.interrupt.received", "interrupt_received"),
    ("agent.subturn.spawn", "subturn_spawn"),
    ("agent.subturn.end", "subturn_end"),
    ("agent.subturn.result_delivered", "subturn_result_delivered"),
    ("agent.subturn.orphan", "subturn_orphan"),
    ("agent.error", "error"),
    ("gateway.start", "gateway_start"),
    ("gateway.ready", "gateway_ready"),
    ("gateway.shutdown", "gateway_shutdown"),
    ("gateway.reload.start", "gateway_reload_start"),
    ("gateway.reload.end", "gateway_reload_end"),
    ("mcp.server.connecting", "mcp_server_connecting"),
    ("mcp.server.connected", "mcp_server_connected"),
    ("mcp.server.failed", "mcp_server_failed"),
    ("mcp.tool.discovered", "mcp_tool_discovered"),
    ("mcp.tool.call.start", "mcp_tool_call_start"),
    ("mcp.tool.call.end", "mcp_tool_call_end"),
];

/// An event for observers.
#[derive(Debug, Clone)]
pub struct HookEvent {
    /// Its kind: `agent.tool.exec_start`.
    pub kind: &'static str,
    /// `info`, `warn` or `error`.
    pub severity: &'static str,
    /// Details of this kind of event.
    pub payload: Value,
}

impl HookEvent {
    /// A tool call starts.
    pub(crate) fn tool_started(id: &str, tool: &str, arguments: &Value) -> Self {
        let payload = json!({"id": id, "tool": tool, "arguments": arguments});
        Self { kind: "agent.tool.exec_start", severity: "info", payload }
    }

    /// A tool call has ended.
    pub(crate) fn tool_finished(id: &str, tool: &str, reply: &Reply, took: Duration) -> Self {
        let is_error = !matches!(reply, Reply::Done(_));
        let payload = json!({"id": id, "tool": tool, "is_error": is_error,
            "duration": u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)});
        let severity = if is_error { "warn" } else { "info" };
        Self { kind: "agent.tool.exec_end", severity, payload }
    }

    /// The parameters of `hook.runtime_event`.
    pub(super) fn to_json(&self, id: u64, time: &str, meta: &super::Meta) -> Value {
        json!({
            "id": format!("evt-{id}"),
            "kind": self.kind,
            "time": time,
            "source": {"component": "agent", "name": meta.subject.agent.as_str()},
            "scope": {
                "agent_id": meta.subject.agent.as_str(),
                "session_key": meta.subject.session,
                "turn_id": meta.turn,
                "channel": meta.subject.origin.as_str(),
                "chat_id": meta.subject.session,
            },
            "correlation": {"parent_turn_id": meta.parent.clone().unwrap_or_default()},
            "severity": self.severity,
            "payload": self.payload,
            "attrs": {},
        })
    }
}

/// Whether an `observe` list may contain `name`.
pub(super) fn knows_kind(name: &str) -> bool {
    matches!(name, "" | "*" | "all") || KINDS.iter().any(|(kind, short)| covers(name, kind, short))
}

/// Whether an `observe` list selects `kind`.
pub(super) fn wants(observe: &[String], kind: &str) -> bool {
    let short = KINDS.iter().find(|(known, _)| *known == kind).map_or("", |(_, short)| short);
    observe.iter().any(|name| matches!(name.as_str(), "" | "*" | "all") || covers(name, kind, short))
}

/// A name covers a kind if it equals the kind or its short name, or is a prefix of it with `*`.
fn covers(name: &str, kind: &str, short: &str) -> bool {
    match name.strip_suffix('*') {
        Some(prefix) => kind.starts_with(prefix),
        None => name == kind || name == short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observer_hears_what_it_names() {
        for (why, name, kind, want) in [
            ("everything", "*", "agent.turn.start", true),
            ("everything, as it is also spelled", "all", "mcp.tool.call.end", true),
            ("the kind", "agent.tool.exec_end", "agent.tool.exec_end", true),
            ("its older name", "tool_exec_end", "agent.tool.exec_end", true),
            ("a family", "agent.tool.*", "agent.tool.exec_end", true),
            ("another family", "gateway.*", "agent.tool.exec_end", false),
            ("another kind", "turn_end", "agent.tool.exec_end", false),
        ] {
            assert_eq!(wants(&[name.to_owned()], kind), want, "{why}: `{name}`");
        }
        assert!(!wants(&[], "agent.turn.start"), "nothing named, nothing heard");
        assert!(knows_kind("turn_start") && !knows_kind("turn_starts"));
    }
}
