//! The charter: what an agent may do here, in words that a model can plan with.
//!
//! Invariant: it tells rules, never secrets and never what lies in a file.

use super::roots::Roots;
use picoclaw_policy::config::{Config, Guard, OnBlock};
use picoclaw_policy::{Reach, Subject};
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::sync::Arc;

/// What the charter is drawn up from.
#[derive(Debug, Clone)]
pub(super) struct Charter {
    config: Arc<Config>,
    tools: Vec<String>,
}

impl Charter {
    /// From the configuration, and the names of every tool that there is.
    pub(super) fn new(config: Arc<Config>, tools: Vec<String>) -> Self {
        Self { config, tools }
    }

    /// The charter for programs.
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
                "read": reach(policy.reads, &tools.allow_read_paths),
                "write": reach(policy.writes, &tools.allow_write_paths),
                "always_refused": "the instance, its configuration, secrets, ledger and sessions, other agents' workspaces, and other processes below /proc",
            },
            "exec": {
                "guard": match tools.exec.guard { Guard::Strict => "strict", Guard::Smart => "smart" },
                "deny_patterns": tools.exec.enable_deny_patterns,
                "on_block": match tools.exec.on_block { OnBlock::Deny => "deny", OnBlock::Ask => "ask" },
                "timeout_seconds": tools.exec.timeout_seconds,
                "isolation": warden.exec_env().backend().map_or("off", |rung| rung.name()),
                "held_by_the_kernel": self.held(warden, subject),
            },
        })
    }

    /// The charter for models.
    pub(super) fn to_words(&self, charter: &Value) -> String {
        let mut text = String::new();
        words("", charter, &mut text);
        picoclaw_sandbox::printable_lines(text.trim_end()).into_owned()
    }

    fn held(&self, warden: &Warden, subject: &Subject) -> Value {
        let enforced = warden.exec_env().enforced(&subject.agent);
        let layers = enforced.map(|enforced| {
            enforced
                .layers()
                .into_iter()
                .map(|(_, name, grade)| (name.to_owned(), json!(grade.to_string())))
                .collect()
        });
        Value::Object(layers.unwrap_or_default())
    }
}

fn reach(reach: Reach, rules: &[String]) -> Value {
    match reach {
        Reach::Workspace => json!({"reach": "workspace", "rules": rules}),
        Reach::Anywhere(setting) => json!({"reach": "anywhere", "by": setting}),
    }
}

/// One line a fact, with the way to it in front.
fn words(way: &str, value: &Value, text: &mut String) {
    let line = |text: &mut String, told: &str| {
        if !told.is_empty() {
            text.push_str(&format!("{way}: {told}\n"));
        }
    };
    match value {
        Value::Object(facts) => {
            for (name, fact) in facts {
                let way = if way.is_empty() { name.clone() } else { format!("{way}.{name}") };
                words(&way, fact, text);
            }
        }
        Value::Array(facts) if facts.iter().all(Value::is_string) => {
            let names: Vec<_> = facts.iter().filter_map(Value::as_str).collect();
            line(text, &names.join(", "));
        }
        Value::Array(facts) => facts.iter().for_each(|fact| words(way, fact, text)),
        Value::String(fact) => line(text, fact),
        Value::Null => {}
        other => line(text, &other.to_string()),
    }
}
