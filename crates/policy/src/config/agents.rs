//! Agents: who may be asked for, and what each has of its own.
//!
//! Invariant: ids are unique, and every agent that another may start exists.

use crate::subject::AgentId;
use std::path::PathBuf;

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Its name.
    pub id: AgentId,
    /// Its workspace, `~` expanded; `None` is the default place for its name.
    pub workspace: Option<PathBuf>,
    /// Tools that are switched off for it.
    pub disabled_tools: Vec<String>,
    /// Agents it may start as subagents.
    pub allow_agents: Vec<String>,
    /// The model it asks for, if it says.
    pub model: Option<String>,
    /// Models to try when that one fails.
    pub model_fallbacks: Vec<String>,
    /// The model of the subagents it starts, if it says.
    pub subagent_model: Option<String>,
    /// How many tokens it may use in a day; zero is no limit.
    pub token_budget: u64,
    /// What people call it; its id when nobody said.
    pub name: String,
}

impl AgentConfig {
    /// An agent of which nothing but the name is known.
    pub fn plain(id: AgentId) -> Self {
        Self {
            name: id.to_string(),
            id,
            workspace: None,
            disabled_tools: Vec::new(),
            allow_agents: Vec::new(),
            model: None,
            model_fallbacks: Vec::new(),
            subagent_model: None,
            token_budget: 0,
        }
    }
}
