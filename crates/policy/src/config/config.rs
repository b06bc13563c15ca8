//! The configuration as everybody else sees it.
//!
//! Invariant: a [`Config`] is complete and checked; nothing in it still needs to be looked up or defaulted.

use super::agents::AgentConfig;
use super::extensions::{HooksConfig, McpConfig};
use super::gateway::{GatewayConfig, HeartbeatConfig, LogLevel};
use super::isolation::IsolationConfig;
use super::models::{ModelConfig, TurnConfig};
use super::secret::MASK;
use super::tools::ToolsConfig;
use crate::subject::AgentId;
use std::fmt;
use std::path::{Path, PathBuf};

/// The effective configuration: defaults, file, secrets and environment laid over each other.
#[derive(Clone, PartialEq)]
pub struct Config {
    /// Every agent, in the order of the file; one `main` when the file names none.
    pub agents: Vec<AgentConfig>,
    /// The agent that is meant when nobody names one: marked `default`, else the first.
    pub default_agent: AgentId,
    /// `agents.defaults.restrict_to_workspace`.
    pub restrict_to_workspace: bool,
    /// `agents.defaults.allow_read_outside_workspace`.
    pub allow_read_outside_workspace: bool,
    /// What `agents.defaults` says about models and turns.
    pub turns: TurnConfig,
    /// `model_list`.
    pub models: Vec<ModelConfig>,
    /// `tools`.
    pub tools: ToolsConfig,
    /// `tools.mcp`.
    pub mcp: McpConfig,
    /// `isolation`.
    pub isolation: IsolationConfig,
    /// `hooks`.
    pub hooks: HooksConfig,
    /// `heartbeat`.
    pub heartbeat: HeartbeatConfig,
    /// `gateway`.
    pub gateway: GatewayConfig,
    /// `gateway.log_level`, which `PICOCLAW_LOG_LEVEL` overrides; `None` when nobody said.
    pub log_level: Option<LogLevel>,
    /// Every secret value known from configuration, secrets file or environment: what redaction must not let through.
    pub secrets: Vec<String>,
}

impl Config {
    /// Where an agent's workspace is in the instance `home`: its own, else the default place for its name.
    pub fn workspace_of(&self, agent: &AgentId, home: &Path) -> PathBuf {
        let own =
            self.agents.iter().find(|known| known.id == *agent).and_then(|known| known.workspace.clone());
        own.unwrap_or_else(|| match agent.as_str() {
            "main" => home.join("workspace"),
            other => home.join(format!("workspace-{other}")),
        })
    }
}

impl Default for Config {
    /// The built-in defaults: no file, no secrets, no environment.
    fn default() -> Self {
        super::build::defaults()
    }
}

impl fmt::Debug for Config {
    /// Without secrets, also where one hides in an argument or an address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: [&dyn fmt::Debug; 11] = [
            &self.agents,
            &self.default_agent,
            &(self.restrict_to_workspace, self.allow_read_outside_workspace),
            &self.turns,
            &self.models,
            &self.tools,
            &self.mcp,
            &self.isolation,
            &self.hooks,
            &(&self.heartbeat, &self.gateway),
            &self.log_level,
        ];
        let mut shown = format!("Config {parts:?}");
        for secret in &self.secrets {
            shown = shown.replace(secret.as_str(), MASK);
        }
        f.write_str(&shown)
    }
}
