//! What a way in must be able to do, so that a call can be made through it.

use crate::test_instance::TestInstance;
use serde_json::{Value, json};
use std::fmt::Debug;

/// A tool and its arguments, as a model would write them.
pub(crate) type Asked = (String, String);

/// A way in.
pub(crate) trait EntryPoint: Debug + Sync {
    /// As the ledger names it.
    fn origin(&self) -> &'static str;

    /// How many spawns lie between the caller and the first subject.
    fn depth(&self) -> u64 {
        0
    }

    /// How many of those spawns are recorded beside the calls.
    fn starts(&self) -> u64 {
        self.depth()
    }

    /// The agents above the caller, as the ledger names them.
    fn lineage(&self) -> Vec<&'static str> {
        vec!["main"; usize::try_from(self.depth()).unwrap()]
    }

    /// As the ledger names the first subject.
    fn began(&self) -> &'static str {
        self.origin()
    }

    /// Whether this call can be spelled here at all.
    fn takes(&self, _call: &Asked) -> bool {
        true
    }

    /// Arranges what lies before the calls; its records are not theirs.
    fn prepare(&self, _instance: &TestInstance, _calls: &[Asked]) {}

    /// Makes the calls in this instance; what each caller was told.
    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told>;
}

/// The same way in, after `coder` had the instructions of `main` written.
#[derive(Debug)]
pub(crate) struct Below(pub(crate) &'static dyn EntryPoint);

impl EntryPoint for Below {
    fn origin(&self) -> &'static str {
        self.0.origin()
    }

    // As if `coder` had started it.
    fn depth(&self) -> u64 {
        1
    }

    fn starts(&self) -> u64 {
        0
    }

    fn lineage(&self) -> Vec<&'static str> {
        vec!["coder"]
    }

    fn began(&self) -> &'static str {
        self.0.began()
    }

    fn takes(&self, call: &Asked) -> bool {
        self.0.takes(call)
    }

    fn prepare(&self, instance: &TestInstance, _calls: &[Asked]) {
        let write = json!({"path": "AGENT.md", "content": "Do what you like.\n"});
        let script = script(1, &[("write_file".to_owned(), write.to_string())]);
        std::fs::write(instance.dir().join("replies.jsonl"), delegated(&script)).unwrap();
        let ran = instance.run(&["agent", "--agent", "coder", "-m", "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(instance.workspace().join("AGENT.md").exists(), "{ran:?}");
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        self.0.call(instance, calls)
    }
}

/// A script in which the first one delegates to `main` instead of starting a subagent.
pub(crate) fn delegated(script: &str) -> String {
    let changed = script.replacen(
        r#"{"name":"subagent","arguments":{"task":"go further"}}"#,
        r#"{"name":"delegate","arguments":{"agent_id":"main","task":"go further"}}"#,
        1,
    );
    assert!(changed.contains("delegate"), "{script}");
    changed
}

/// What the caller of one call was told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) text: String,
    /// Where its records are, when they do not lie in the order of the calls.
    pub(crate) session: Option<String>,
}

impl Told {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.trim_end().to_owned(), session: None }
    }
}

/// What a model says that makes these calls so many spawns down; from the bottom up, everybody has a last word.
pub(crate) fn script(depth: u64, calls: &[Asked]) -> String {
    let ask = |tool: &str, arguments: Value| {
        json!({"tool_calls": [{"name": tool, "arguments": arguments}]}).to_string()
    };
    let further = (0..depth).map(|_| ask("subagent", json!({"task": "go further"})));
    let calls = calls.iter().map(|(tool, arguments)| ask(tool, arguments.as_str().into()));
    let last = (0..=depth).map(|depth| json!({"content": format!("done {depth}")}).to_string());
    further.chain(calls).chain(last).collect::<Vec<_>>().join("\n")
}

/// The records of these calls, two by two.
pub(crate) fn pairs(entry_point: &dyn EntryPoint, records: &[Value], told: &[Told]) -> Vec<Vec<Value>> {
    let of_calls: Vec<&Value> =
        records.iter().filter(|record| record["depth"] == entry_point.depth()).filter(is_call).collect();
    let of_session = |session: &String| {
        of_calls
            .iter()
            .filter(|record| record["session"] == session.as_str())
            .map(|one| (*one).clone())
            .collect()
    };
    let in_order = |at: usize| of_calls.iter().skip(2 * at).take(2).map(|one| (*one).clone()).collect();
    told.iter()
        .enumerate()
        .map(|(at, told)| told.session.as_ref().map_or_else(|| in_order(at), of_session))
        .collect()
}

/// Whether a record is a call's, and not that of a program of the operator's that came or went.
fn is_call(record: &&Value) -> bool {
    record["tool"] != "helper"
}
