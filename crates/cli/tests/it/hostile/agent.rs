//! `picoclaw agent`: a model that makes every call in one turn, itself or so many spawns down.

use super::entry_point::{Asked, EntryPoint, Told, delegated, script};
use crate::test_instance::TestInstance;
use serde_json::Value;

/// The agent of a turn, and its subagents; the number counts the spawns.
#[derive(Debug)]
pub(crate) struct Agent(pub(crate) u64);

/// `main`, to which `coder` delegates: what `coder` may not do, it may not do.
#[derive(Debug)]
pub(crate) struct Delegated;

impl EntryPoint for Delegated {
    fn origin(&self) -> &'static str {
        "subagent"
    }

    fn depth(&self) -> u64 {
        1
    }

    fn lineage(&self) -> Vec<&'static str> {
        vec!["coder"]
    }

    fn began(&self) -> &'static str {
        "cli"
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        let script = delegated(&script(1, calls));
        tell(instance, &["agent", "--agent", "coder", "--json", "-m", "go"], &script, 1)
    }
}

/// Runs a turn whose model says `script`; what the calls at this depth were told.
fn tell(instance: &TestInstance, arguments: &[&str], script: &str, depth: u64) -> Vec<Told> {
    std::fs::write(instance.dir().join("replies.jsonl"), script).unwrap();
    let ran = instance.run(arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_there = |line: &Value| line["depth"].as_u64().unwrap_or(0) == depth;
    let results = lines.filter(|line| line["type"] == "tool_result" && is_there(line));
    results.map(|line| Told::new(line["text"].as_str().unwrap())).collect()
}

impl EntryPoint for Agent {
    fn origin(&self) -> &'static str {
        if self.0 == 0 { "cli" } else { "subagent" }
    }

    fn depth(&self) -> u64 {
        self.0
    }

    fn began(&self) -> &'static str {
        "cli"
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        tell(instance, &["agent", "--json", "-m", "go"], &script(self.0, calls), self.0)
    }
}
