//! Subagents: which agent may start which, and how deep.
//!
//! An agent may start another only if every agent above it may, too.

use crate::config::Config;
use crate::refusal::{Code, Layer, Refusal};
use crate::subject::{AgentId, Subject};
use crate::verdict::{Grant, Verdict};
use std::collections::BTreeMap;
use std::fmt;

/// A request to start a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnIntent {
    /// The tool that requests it.
    pub kind: SpawnKind,
    /// The requested agent. `None` is the requesting agent itself.
    pub agent: Option<String>,
    /// The task for the subagent.
    pub task: String,
}

/// How a subagent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnKind {
    /// `spawn`: in the background.
    Spawn,
    /// `subagent`: the caller waits.
    Subagent,
    /// `delegate`: as another agent; the caller waits.
    Delegate,
}

/// Which agent may start which, and how deep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spawning {
    /// Maximum number of spawns between a subagent and a person.
    pub max_depth: u64,
    /// For each agent the names it may start; `*` allows every agent.
    pub allowed: BTreeMap<AgentId, Vec<String>>,
}

impl SpawnIntent {
    /// The normalised name of the requested agent. `None` if it is `subject`'s own.
    fn target(&self, subject: &Subject) -> Option<String> {
        let name = self.agent.as_deref().map(|name| name.trim().to_lowercase());
        name.filter(|name| !name.is_empty() && name != subject.agent.as_str())
    }

    /// The id of the agent that would run. `None` if the name is not valid.
    pub fn agent_id(&self, subject: &Subject) -> Option<AgentId> {
        match self.target(subject) {
            Some(name) => AgentId::parse(&name),
            None => Some(subject.agent.clone()),
        }
    }
}

impl fmt::Display for SpawnIntent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.agent {
            Some(agent) => write!(f, "start a subagent as {agent}: {}", self.task),
            None => write!(f, "start a subagent: {}", self.task),
        }
    }
}

impl Spawning {
    /// Compiles the rules of a configuration.
    pub(crate) fn compile(config: &Config) -> Self {
        let allowed = config.agents.iter().map(|agent| (agent.id.clone(), agent.allow_agents.clone()));
        Self { max_depth: config.turns.subturn.max_depth, allowed: allowed.collect() }
    }

    pub(crate) fn judge(&self, spawn: &SpawnIntent, subject: &Subject) -> Verdict {
        if u64::from(subject.depth) >= self.max_depth {
            return Verdict::Deny(self.too_deep());
        }
        let grant = |rule: String| Verdict::Allow(Grant { rule });
        let Some(name) = spawn.target(subject) else {
            return match spawn.kind {
                SpawnKind::Spawn | SpawnKind::Subagent => grant("own agent".to_owned()),
                SpawnKind::Delegate => Verdict::Deny(itself(subject)),
            };
        };
        if !self.allowed.keys().any(|known| known.as_str() == name) {
            return Verdict::Deny(not_allowed(spawn.kind, &name, &format!("there is no agent `{name}`")));
        }
        let mut above = subject.lineage.iter().chain([&subject.agent]);
        match above.find(|agent| agent.as_str() != name && !self.allows(agent, &name)) {
            None => grant(setting(&subject.agent)),
            Some(agent) => {
                let hint = format!("`{}` does not name `{name}`", setting(agent));
                Verdict::Deny(not_allowed(spawn.kind, &name, &hint))
            }
        }
    }

    fn allows(&self, agent: &AgentId, name: &str) -> bool {
        self.allowed.get(agent).is_some_and(|names| names.iter().any(|known| known == "*" || known == name))
    }

    fn too_deep(&self) -> Refusal {
        Refusal {
            code: Code::TooDeep,
            sentence: "sub-turn depth limit exceeded".to_owned(),
            rule: "agents.defaults.subturn.max_depth".to_owned(),
            layer: Layer::Policy,
            hint: format!("`agents.defaults.subturn.max_depth` is {}", self.max_depth),
        }
    }
}

fn setting(agent: &AgentId) -> String {
    format!("agents.agents[{agent}].subagents.allow_agents")
}

fn not_allowed(kind: SpawnKind, name: &str, hint: &str) -> Refusal {
    let sentence = match kind {
        SpawnKind::Spawn | SpawnKind::Subagent => format!("not allowed to spawn agent '{name}'"),
        SpawnKind::Delegate => format!("not allowed to delegate to agent \"{name}\""),
    };
    refused(sentence, hint.to_owned())
}

fn itself(subject: &Subject) -> Refusal {
    refused("cannot delegate to self".to_owned(), format!("`{}` is the agent that asks", subject.agent))
}

fn refused(sentence: String, hint: String) -> Refusal {
    Refusal {
        code: Code::AgentNotAllowed,
        sentence,
        rule: "subagents.allow_agents".to_owned(),
        layer: Layer::Policy,
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Origin;

    fn id(name: &str) -> AgentId {
        AgentId::parse(name).unwrap()
    }

    fn spawning() -> Spawning {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let allowed = [
            (id("main"), names(&["coder"])),
            (id("coder"), names(&["main", "tester"])),
            (id("tester"), names(&[])),
            (id("chief"), names(&["*"])),
        ];
        Spawning { max_depth: 3, allowed: allowed.into() }
    }

    /// The subject at the end of a chain of agents.
    fn at(chain: &[&str]) -> Subject {
        let root = Subject::root(Origin::Cli, id(chain[0]), "s");
        chain[1..].iter().fold(root, |subject, name| subject.child(id(name), "s"))
    }

    #[test]
    fn an_agent_starts_only_whom_it_and_all_above_it_may_start() {
        let spawn = "not allowed to spawn agent 'tester'";
        let delegate = "not allowed to delegate to agent \"tester\"";
        let deep = "sub-turn depth limit exceeded";
        for (why, chain, kind, agent, want) in [
            ("itself needs no list", &["tester"][..], SpawnKind::Spawn, None, None),
            ("itself by name", &["tester"], SpawnKind::Spawn, Some("tester"), None),
            ("a name of nothing is itself", &["tester"], SpawnKind::Subagent, Some(" "), None),
            ("one that the list names", &["main"], SpawnKind::Spawn, Some("coder"), None),
            ("written otherwise", &["main"], SpawnKind::Delegate, Some(" Coder "), None),
            ("one that it does not", &["main"], SpawnKind::Spawn, Some("tester"), Some(spawn)),
            ("the same by delegation", &["main"], SpawnKind::Delegate, Some("tester"), Some(delegate)),
            ("anybody", &["chief"], SpawnKind::Delegate, Some("tester"), None),
            (
                "anybody who exists",
                &["chief"],
                SpawnKind::Spawn,
                Some("nobody"),
                Some("not allowed to spawn agent 'nobody'"),
            ),
            ("oneself", &["main"], SpawnKind::Delegate, Some("main"), Some("cannot delegate to self")),
            (
                "oneself, in disguise",
                &["main"],
                SpawnKind::Delegate,
                Some(" MAIN"),
                Some("cannot delegate to self"),
            ),
            (
                "a child may what its parent may not",
                &["main", "coder"],
                SpawnKind::Spawn,
                Some("tester"),
                Some(spawn),
            ),
            ("both may", &["chief", "coder"], SpawnKind::Spawn, Some("tester"), None),
            ("back to the first", &["main", "coder"], SpawnKind::Delegate, Some("main"), None),
            ("at the bottom", &["main", "main", "main", "main"], SpawnKind::Spawn, None, Some(deep)),
            ("above the bottom", &["main", "main", "main"], SpawnKind::Spawn, None, None),
            (
                "a name that is a path",
                &["chief"],
                SpawnKind::Spawn,
                Some("../x"),
                Some("not allowed to spawn agent '../x'"),
            ),
        ] {
            let intent = SpawnIntent { kind, agent: agent.map(str::to_owned), task: "t".to_owned() };
            let refused = match spawning().judge(&intent, &at(chain)) {
                Verdict::Deny(no) => Some(no.sentence),
                Verdict::Allow(_) | Verdict::Ask(_) => None,
            };
            assert_eq!(refused.as_deref(), want, "{why}: {chain:?} {agent:?}");
        }
    }

    #[test]
    fn a_childs_lineage_is_everybody_above_it() {
        let subject = at(&["main", "coder", "main"]);
        assert_eq!((subject.depth, subject.origin), (2, Origin::Subagent));
        assert_eq!(subject.lineage, [id("main"), id("coder")]);
    }
}
