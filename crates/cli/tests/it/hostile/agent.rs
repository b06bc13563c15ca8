//! `picoclaw agent`: a model that makes every call in one turn, itself or so many spawns down.

use super::porch::{Asked, Porch, Told, script};
use crate::test_instance::TestInstance;
use serde_json::Value;

/// The agent of a turn, and its subagents; the number counts the spawns.
#[derive(Debug)]
pub(crate) struct Agent(pub(crate) u64);

impl Porch for Agent {
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
        std::fs::write(instance.dir().join("replies.jsonl"), script(self.0, calls)).unwrap();
        let ran = instance.run(&["agent", "--json", "-m", "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let depth = |line: &Value| line["depth"].as_u64().unwrap_or(0);
        let results = lines.filter(|line| line["type"] == "tool_result" && depth(line) == self.0);
        results.map(|line| Told::new(line["text"].as_str().unwrap())).collect()
    }
}
