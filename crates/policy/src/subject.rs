//! Who asks: through which porch, and on whose behalf.
//!
//! Invariant: a subject is built from configuration and from the porch, never from what a model wrote.

use std::fmt;

/// Which porch a call came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// `picoclaw agent`.
    Cli,
    /// `picoclaw tool`.
    Tool,
    /// The gateway's HTTP interface.
    Http,
    /// A scheduled job.
    Cron,
    /// The heartbeat.
    Heartbeat,
    /// A subagent's own turn.
    Subagent,
    /// A process hook.
    Hook,
    /// A client of our MCP server.
    Mcp,
}

impl Origin {
    /// The spelling in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Tool => "tool",
            Self::Http => "http",
            Self::Cron => "cron",
            Self::Heartbeat => "heartbeat",
            Self::Subagent => "subagent",
            Self::Hook => "hook",
            Self::Mcp => "mcp",
        }
    }
}

/// An agent's name: lower-case letters, digits, `_` and `-`, at most 64, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(String);

impl AgentId {
    /// The agent that exists without being configured.
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// Takes a name as it is written; `None` when it is not one.
    pub fn parse(name: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let fits = (1..=64).contains(&name.len())
            && plain(name.as_bytes()[0])
            && name.bytes().all(|b| plain(b) || b == b'_' || b == b'-');
        fits.then(|| Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// On whose behalf something is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The porch.
    pub origin: Origin,
    /// The agent whose rules and workspace apply.
    pub agent: AgentId,
    /// The session the call belongs to.
    pub session: String,
    /// How many spawns lie between this subject and a person.
    pub depth: u32,
    /// The agents above it, from the person down; what one of them may not, this one may not either.
    pub lineage: Vec<AgentId>,
}

impl Subject {
    /// Somebody who was not started by another agent.
    pub fn root(origin: Origin, agent: AgentId, session: impl Into<String>) -> Self {
        Self { origin, agent, session: session.into(), depth: 0, lineage: Vec::new() }
    }

    /// A subagent of this one's, with a session of its own.
    #[must_use]
    pub fn child(&self, agent: AgentId, session: impl Into<String>) -> Self {
        let mut lineage = self.lineage.clone();
        lineage.push(self.agent.clone());
        Self {
            origin: Origin::Subagent,
            agent,
            session: session.into(),
            depth: self.depth.saturating_add(1),
            lineage,
        }
    }
}
