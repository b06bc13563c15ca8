//! Everything that is built from one configuration. A reload replaces it as a whole; a running turn
//! keeps the one that it started with.

use super::access::Credentials;
use crate::executor::ToolExecutor;
use crate::http_guard::AllowedHosts;
use crate::providers::{ModelError, Models};
use crate::run::Runner;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::instance::Instance;
use serde_json::Value;
use std::sync::Arc;

/// Computes a status report on request.
pub type StatusFn = Arc<dyn Fn() -> Value + Send + Sync>;

/// What the gateway works with under one configuration.
pub struct Services {
    /// Runs turns.
    pub runner: Runner,
    /// Executes tool calls.
    pub executor: ToolExecutor,
    /// The models.
    pub models: Models,
    /// The configuration.
    pub config: Arc<Config>,
    /// The instance with its workspaces.
    pub instance: Instance,
    /// The tokens that clients may send.
    pub credentials: Credentials,
    /// The probed posture of this host, as `picoclaw status` reports it.
    pub posture: StatusFn,
}

impl Services {
    /// Checks that every agent has a model.
    pub fn check(&self) -> Result<(), ModelError> {
        self.config.agents.iter().try_for_each(|agent| self.models.chain(&agent.id, None).map(drop))
    }

    /// Hosts that a request may name.
    pub(super) fn allowed_hosts(&self) -> AllowedHosts {
        AllowedHosts::new(&self.config.gateway.allowed_hosts)
    }

    /// The configured agent of that name.
    pub(super) fn agent(&self, name: &str) -> Option<AgentId> {
        AgentId::parse(name).filter(|id| self.config.agents.iter().any(|known| known.id == *id))
    }
}
