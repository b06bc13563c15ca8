//! From a configuration to the rules in force.
//!
//! Invariant: every setting that widens or narrows a verdict is read here, once.

use crate::config::Config;
use crate::network::{HostRules, NetworkFault};
use crate::path::CleanPath;
use crate::policy::{AgentRules, Policy, Reach};
use crate::rules::{PathRules, RuleFault};
use crate::shell::guard::Guard;
use crate::spawning::Spawning;
use crate::subject::AgentId;
use crate::zone::Zones;
use std::collections::BTreeMap;

/// Why a configuration is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFault {
    /// A pattern.
    #[error(transparent)]
    Rule(#[from] RuleFault),
    /// An address or a network.
    #[error(transparent)]
    Network(#[from] NetworkFault),
}

impl Policy {
    /// The rules of `config` over these zones; in `shared` directories anybody can put something.
    pub fn compile(
        config: &Config,
        zones: BTreeMap<AgentId, Zones>,
        shared: Vec<CleanPath>,
    ) -> Result<Self, PolicyFault> {
        const UNRESTRICTED: Reach = Reach::Anywhere("agents.defaults.restrict_to_workspace");
        let writes = if config.restrict_to_workspace { Reach::Workspace } else { UNRESTRICTED };
        let reads = match writes {
            Reach::Workspace if config.allow_read_outside_workspace => {
                Reach::Anywhere("agents.defaults.allow_read_outside_workspace")
            }
            other => other,
        };
        let agents = zones.into_iter().map(|(id, zones)| {
            let own = config.agents.iter().find(|agent| agent.id == id);
            let disabled =
                own.map(|agent| agent.disabled_tools.iter().cloned().collect()).unwrap_or_default();
            (id, AgentRules { zones, disabled })
        });
        let disabled =
            config.tools.disabled.iter().map(|tool| (tool.clone(), format!("tools.{tool}.enabled")));
        Ok(Self {
            agents: agents.collect(),
            read_rules: PathRules::compile(&config.tools.allow_read_paths)?,
            write_rules: PathRules::compile(&config.tools.allow_write_paths)?,
            reads,
            writes,
            shared,
            disabled: disabled.collect(),
            guard: Guard::compile(&config.tools.exec)?,
            on_block: config.tools.exec.on_block,
            hosts: HostRules::compile(&config.tools.web.private_host_whitelist)?,
            spawning: Spawning::compile(config),
        })
    }
}
