//! Everything that a configuration decides, in one piece.
//!
//! Invariant: a turn keeps the staff that it began with; a reload puts another one in its place and changes none.

use crate::entrance::{Hosts, Token};
use crate::hall::Hall;
use crate::providers::{ModelError, Models};
use crate::run::Runner;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use serde_json::Value;
use std::sync::Arc;

/// Something that is looked up when somebody asks, and not by this crate.
pub type Extra = Arc<dyn Fn() -> Value + Send + Sync>;

/// Whoever works for the gateway under one configuration.
pub struct Staff {
    /// Runs turns.
    pub runner: Runner,
    /// The tools, behind the desk.
    pub hall: Hall,
    /// The models.
    pub models: Models,
    /// The configuration.
    pub config: Arc<Config>,
    /// What clients must show.
    pub token: Token,
    /// What really holds on this host, as `status` tells it.
    pub posture: Extra,
    /// Names beside the loopback's that a request may be for.
    pub(super) hosts: Hosts,
}

impl Staff {
    /// A staff for this configuration.
    pub fn new(
        runner: Runner,
        hall: Hall,
        models: Models,
        config: Arc<Config>,
        token: Token,
        posture: Extra,
    ) -> Self {
        let hosts = Hosts::new(&config.gateway.allowed_hosts);
        Self { runner, hall, models, config, token, posture, hosts }
    }

    /// Whether every agent has a model to ask.
    pub fn check(&self) -> Result<(), ModelError> {
        self.config.agents.iter().try_for_each(|agent| self.models.chain(&agent.id, None).map(drop))
    }

    /// The agent of that name, if there is one.
    pub(super) fn agent(&self, name: &str) -> Option<AgentId> {
        AgentId::parse(name).filter(|id| self.config.agents.iter().any(|known| known.id == *id))
    }
}
