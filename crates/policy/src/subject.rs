//! On whose behalf a call is made. Built from the configuration and the entry point, never from
//! model output.

use std::fmt;

/// The entry point of a call.
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
    /// A client of the MCP server.
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

/// An agent's name: lower-case letters, digits, `_` and `-`, at most 64 characters, starting with a
/// letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(String);

impl AgentId {
    /// The agent that exists without configuration.
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// Parses a name. `None` if it is not valid.
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

/// On whose behalf a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The entry point.
    pub origin: Origin,
    /// The agent whose rules and workspace apply.
    pub agent: AgentId,
    /// The session the call belongs to.
    pub session: String,
    /// Number of spawns between this subject and a person.
    pub depth: u32,
    /// The agents above this one, outermost first. What one of them may not do, this one may not
    /// do.
    pub lineage: Vec<AgentId>,
    /// Who asked: a token's name, `terminal` or `mcp:<client>`; `None` where no person did.
    pub principal: Option<String>,
}

impl Subject {
    /// A subject that no other agent started.
    pub fn root(origin: Origin, agent: AgentId, session: impl Into<String>) -> Self {
        Self { origin, agent, session: session.into(), depth: 0, lineage: Vec::new(), principal: None }
    }

    /// The same subject, on behalf of this principal.
    #[must_use]
    pub fn on_behalf_of(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// The same subject, bounded by these agents as if they had started it.
    #[must_use]
    pub fn bounded_by(mut self, agents: impl IntoIterator<Item = AgentId>) -> Self {
        for agent in agents {
            if agent != self.agent && !self.lineage.contains(&agent) {
                self.lineage.push(agent);
                self.depth = self.depth.max(1);
            }
        }
        self
    }

    /// A subagent of this subject, with its own session.
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
            principal: self.principal.clone(),
        }
    }
}
