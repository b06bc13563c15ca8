//! The effective configuration.

use super::agents::AgentConfig;
use super::extensions::{HooksConfig, McpConfig};
use super::gateway::{GatewayConfig, HeartbeatConfig, LedgerAnchor, LogLevel};
use super::isolation::IsolationConfig;
use super::models::{ModelConfig, TurnConfig};
use super::secret::MASK;
use super::tools::ToolsConfig;
use crate::subject::AgentId;
use std::fmt;
use std::path::{Path, PathBuf};

/// The effective configuration: complete and checked. No value needs a default or another lookup.
#[derive(Clone, PartialEq)]
pub struct Config {
    /// Every agent, in the order of the file; `main` alone if the file names none.
    pub agents: Vec<AgentConfig>,
    /// The agent that is used when none is named: the one marked `default`, else the first.
    pub default_agent: AgentId,
    /// `agents.defaults.restrict_to_workspace`.
    pub restrict_to_workspace: bool,
    /// `agents.defaults.allow_read_outside_workspace`.
    pub allow_read_outside_workspace: bool,
    /// The keys of `agents.defaults` about models and turns.
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
    /// `ledger.anchor`.
    pub ledger_anchor: Option<LedgerAnchor>,
    /// `gateway.log_level`, which `PICOCLAW_LOG_LEVEL` overrides.
    pub log_level: Option<LogLevel>,
    /// Every secret value from configuration, secrets file and environment, for redaction.
    pub secrets: Vec<String>,
}

impl Config {
    /// The workspace of an agent: as configured, else the default directory for its name.
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
    /// The built-in defaults, without file, secrets or environment.
    fn default() -> Self {
        super::build::defaults()
    }
}

impl fmt::Debug for Config {
    /// Masks secrets, including those within arguments and addresses.
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
            &(&self.heartbeat, &self.gateway, &self.ledger_anchor),
            &self.log_level,
        ];
        let mut shown = format!("Config {parts:?}");
        for secret in &self.secrets {
            shown = shown.replace(secret.as_str(), MASK);
        }
        f.write_str(&shown)
    }
}
