//! The configuration of agents. Ids are unique, and every agent that another may start exists.

use crate::subject::AgentId;
use std::path::PathBuf;

/// One entry of `agents.agents`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Its name.
    pub id: AgentId,
    /// Its workspace, `~` expanded. `None` is the default directory for its name.
    pub workspace: Option<PathBuf>,
    /// Whether the workspace is a project that was named at the start, instead of the configured
    /// one.
    pub in_project: bool,
    /// Tools that are disabled for it.
    pub disabled_tools: Vec<String>,
    /// Agents that it may start as subagents.
    pub allow_agents: Vec<String>,
    /// Its model, if configured.
    pub model: Option<String>,
    /// Models to try when that one fails.
    pub model_fallbacks: Vec<String>,
    /// The model of its subagents, if configured.
    pub subagent_model: Option<String>,
    /// Tokens per day; zero is no limit.
    pub token_budget: u64,
    /// Its display name; the id by default.
    pub name: String,
}

impl AgentConfig {
    /// An agent with defaults only.
    pub fn plain(id: AgentId) -> Self {
        Self {
            name: id.to_string(),
            id,
            workspace: None,
            in_project: false,
            disabled_tools: Vec::new(),
            allow_agents: Vec::new(),
            model: None,
            model_fallbacks: Vec::new(),
            subagent_model: None,
            token_budget: 0,
        }
    }
}
