//! The whole act that a person is asked about, and its digest.
//!
//! A yes is bound to the digest: what differs in one argument, in the directory, in the time limit
//! or in the caller is another act.

use crate::canonical_json;
use data_encoding::HEXLOWER;
use picoclaw_policy::Subject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// What an effect knows about itself beside its intent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The directory of a command, or the file of a file tool, with links resolved.
    pub path: Option<PathBuf>,
    /// Device and inode of the directory that a command starts in.
    pub directory: Option<(u64, u64)>,
    /// What the paths of the act lead to. It must be the same when the answer comes.
    pub operands: Operands,
    /// Whether a command runs in the background.
    pub background: bool,
    /// Seconds after which a command is ended.
    pub timeout_seconds: Option<u64>,
}

/// What the paths of an act lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operands {
    /// Each path, with what it resolves to and which directory that is.
    pub paths: Vec<String>,
    /// Those that lead through links. A yes that holds for the same act again is bound to them too.
    pub links: Vec<String>,
    /// Whether there were more than could be looked up. Such an act cannot be compared.
    pub is_cut: bool,
}

/// The whole act.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Act {
    /// The tool.
    pub tool: String,
    /// Every argument.
    pub arguments: Value,
    /// The directory or file, with links resolved.
    pub path: Option<String>,
    /// Whether it runs in the background.
    pub background: bool,
    /// Seconds after which it is ended.
    pub timeout_seconds: Option<u64>,
    /// The agent.
    pub agent: String,
    /// The agents above it.
    pub lineage: Vec<String>,
    /// The session.
    pub session: String,
    /// The number of spawns above it: a yes for an agent is none for its subagents.
    pub depth: u32,
    /// Device and inode of the directory.
    pub directory: Option<(u64, u64)>,
    /// Paths that lead elsewhere through links, each with where it leads.
    pub links: Vec<String>,
    /// What the kernel enforces: a yes for a caged command is none for one without a cage.
    pub enforced: Vec<String>,
    /// The rule that asks.
    pub rule: String,
}

impl Act {
    /// The act of a call whose effect has these facts, about which `rule` asks.
    pub(crate) fn new(
        tool: &str,
        arguments: &Value,
        subject: &Subject,
        facts: &Facts,
        enforced: Vec<String>,
        rule: &str,
    ) -> Self {
        Self {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            path: facts.path.as_ref().map(|path| path.display().to_string()),
            background: facts.background,
            timeout_seconds: facts.timeout_seconds,
            agent: subject.agent.to_string(),
            lineage: subject.lineage.iter().map(ToString::to_string).collect(),
            session: subject.session.clone(),
            depth: subject.depth,
            directory: facts.directory,
            links: facts.operands.links.clone(),
            enforced,
            rule: rule.to_owned(),
        }
    }

    /// The SHA-256 of all of it, in hexadecimal.
    pub fn digest(&self) -> String {
        self.digest_in(&Value::from(self.session.as_str()))
    }

    /// The same for every session of the agent: what a rule of the person is bound to.
    pub fn standing_digest(&self) -> String {
        self.digest_in(&Value::Null)
    }

    fn digest_in(&self, session: &Value) -> String {
        let whole = json!({
            "tool": self.tool,
            "arguments": self.arguments,
            "path": self.path,
            "directory": self.directory,
            "links": self.links,
            "background": self.background,
            "timeout_seconds": self.timeout_seconds,
            "enforced": self.enforced,
            "agent": self.agent,
            "lineage": self.lineage,
            "depth": self.depth,
            "session": session,
            "rule": self.rule,
        });
        HEXLOWER.encode(&Sha256::digest(canonical_json(&whole)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act() -> Act {
        Act {
            tool: "exec".to_owned(),
            arguments: json!({"command": "rm -rf data", "cwd": "a"}),
            path: Some("/w/a".to_owned()),
            background: false,
            timeout_seconds: Some(60),
            agent: "main".to_owned(),
            lineage: Vec::new(),
            session: "s".to_owned(),
            depth: 0,
            directory: Some((1, 2)),
            links: Vec::new(),
            enforced: vec!["filesystem: full".to_owned()],
            rule: "rm".to_owned(),
        }
    }

    #[test]
    fn every_part_of_an_act_is_in_its_digest() {
        type Change = fn(&mut Act);
        let rows: [(&str, Change); 13] = [
            ("the tool", |act| act.tool = "cron".to_owned()),
            ("an argument", |act| act.arguments["cwd"] = json!("b")),
            ("one more argument", |act| act.arguments["background"] = json!(true)),
            ("the resolved path", |act| act.path = Some("/w/b".to_owned())),
            ("the directory itself", |act| act.directory = Some((1, 3))),
            ("where a link leads", |act| act.links.push("/w/a/data -> /w/b".to_owned())),
            ("the background", |act| act.background = true),
            ("the time limit", |act| act.timeout_seconds = Some(5)),
            ("the cage", |act| act.enforced.clear()),
            ("the agent", |act| act.agent = "other".to_owned()),
            ("an agent above", |act| act.lineage.push("other".to_owned())),
            ("the depth", |act| act.depth = 1),
            ("the rule", |act| act.rule = "x".to_owned()),
        ];
        for (why, change) in rows {
            let mut other = act();
            change(&mut other);
            assert_ne!(act().digest(), other.digest(), "{why}");
            assert_ne!(act().standing_digest(), other.standing_digest(), "{why}");
        }
        let mut elsewhere = act();
        elsewhere.session = "t".to_owned();
        assert_ne!(act().digest(), elsewhere.digest());
        assert_eq!(act().standing_digest(), elsewhere.standing_digest(), "a rule holds in every session");
        let mut reordered = act();
        reordered.arguments = json!({"cwd": "a", "command": "rm -rf data"});
        assert_eq!(act().digest(), reordered.digest(), "the order of arguments means nothing");
    }
}
