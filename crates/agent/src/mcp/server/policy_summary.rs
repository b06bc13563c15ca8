//! A summary of what an agent may do, for models and programs. It contains rules, not secrets or
//! file contents.

use super::roots::Roots;
use picoclaw_policy::config::{Config, Guard, OnBlock};
use picoclaw_policy::{Reach, Subject};
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::sync::Arc;

/// The source of the summary.
#[derive(Debug, Clone)]
pub(super) struct PolicySummary {
    config: Arc<Config>,
    tools: Vec<String>,
}

impl PolicySummary {
    /// From the configuration and the names of all tools.
    pub(super) fn new(config: Arc<Config>, tools: Vec<String>) -> Self {
        Self { config, tools }
    }

    /// The summary as an object.
    pub(super) fn to_json(&self, warden: &Warden, subject: &Subject, roots: &Roots) -> Value {
        let policy = warden.policy();
        let zones = policy.agents.get(&subject.agent).map(|agent| &agent.zones);
        let workspace = zones.and_then(|zones| zones.workspace.first()).map(ToString::to_string);
        let (on, off): (Vec<&String>, Vec<_>) =
            self.tools.iter().partition(|tool| policy.check_tool(tool, subject).is_ok());
        let off: Vec<Value> = off
            .iter()
            .filter_map(|tool| {
                policy.check_tool(tool, subject).err().map(|no| json!({"tool": tool, "by": no.rule}))
            })
            .collect();
        let tools = &self.config.tools;
        json!({
            "agent": subject.agent.as_str(),
            "workspace": workspace,
            "roots": roots.names(),
            "tools": {"offered": on, "disabled": off},
            "files": {
                "read": reach_json(policy.reads, &tools.allow_read_paths),
                "write": reach_json(policy.writes, &tools.allow_write_paths),
                "always_refused": "the instance, its configuration, secrets, ledger and sessions, other agents' workspaces, and other processes below /proc",
            },
            "exec": {
                "guard": match tools.exec.guard { Guard::Strict => "strict", Guard::Smart => "smart" },
                "deny_patterns": tools.exec.enable_deny_patterns,
                "on_block": match tools.exec.on_block { OnBlock::Deny => "deny", OnBlock::Ask => "ask" },
                "timeout_seconds": tools.exec.timeout_seconds,
                "isolation": warden.exec_env().backend().map_or("off", |backend| backend.name()),
                "held_by_the_kernel": enforced_layers(warden, subject),
            },
        })
    }

    /// The summary as text, one line per fact.
    pub(super) fn to_text(summary: &Value) -> String {
        let mut text = String::new();
        write_facts("", summary, &mut text);
        picoclaw_sandbox::printable_lines(text.trim_end()).into_owned()
    }
}

fn enforced_layers(warden: &Warden, subject: &Subject) -> Value {
    let enforced = warden.exec_env().enforced(&subject.agent);
    let layers = enforced.map(|enforced| {
        enforced.words().into_iter().map(|(name, word)| (name.to_owned(), json!(word))).collect()
    });
    Value::Object(layers.unwrap_or_default())
}

fn reach_json(reach: Reach, rules: &[String]) -> Value {
    match reach {
        Reach::Workspace => json!({"reach": "workspace", "rules": rules}),
        Reach::Anywhere(setting) => json!({"reach": "anywhere", "by": setting}),
    }
}

/// One line per fact, with its path in front.
fn write_facts(path: &str, value: &Value, text: &mut String) {
    let line = |text: &mut String, fact: &str| {
        if !fact.is_empty() {
            text.push_str(&format!("{path}: {fact}\n"));
        }
    };
    match value {
        Value::Object(facts) => {
            for (name, fact) in facts {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                write_facts(&path, fact, text);
            }
        }
        Value::Array(facts) if facts.iter().all(Value::is_string) => {
            let names: Vec<_> = facts.iter().filter_map(Value::as_str).collect();
            line(text, &names.join(", "));
        }
        Value::Array(facts) => facts.iter().for_each(|fact| write_facts(path, fact, text)),
        Value::String(fact) => line(text, fact),
        Value::Null => {}
        other => line(text, &other.to_string()),
    }
}
