//! Everything that a configuration decides, in one piece.
//!
//! Invariant: a turn keeps the staff that it began with; a reload puts another one in its place and changes none.

use crate::entrance::{Hosts, Token};
use crate::executor::ToolExecutor;
use crate::providers::{ModelError, Models};
use crate::run::Runner;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::instance::Instance;
use serde_json::Value;
use std::sync::Arc;

/// Something that is looked up when somebody asks, and not by this crate.
pub type Extra = Arc<dyn Fn() -> Value + Send + Sync>;

/// Whoever works for the gateway under one configuration.
pub struct Staff {
    /// Runs turns.
    pub runner: Runner,
    /// The tools, behind the desk.
    pub hall: ToolExecutor,
    /// The models.
    pub models: Models,
    /// The configuration.
    pub config: Arc<Config>,
    /// The instance, with its workspaces.
    pub instance: Instance,
    /// What clients must show.
    pub token: Token,
    /// What really holds on this host, as `status` tells it.
    pub posture: Extra,
}

impl Staff {
    /// Whether every agent has a model to ask.
    pub fn check(&self) -> Result<(), ModelError> {
        self.config.agents.iter().try_for_each(|agent| self.models.chain(&agent.id, None).map(drop))
    }

    /// Names that a request may be for.
    pub(super) fn hosts(&self) -> Hosts {
        Hosts::new(&self.config.gateway.allowed_hosts)
    }

    /// The agent of that name, if there is one.
    pub(super) fn agent(&self, name: &str) -> Option<AgentId> {
        AgentId::parse(name).filter(|id| self.config.agents.iter().any(|known| known.id == *id))
    }
}
