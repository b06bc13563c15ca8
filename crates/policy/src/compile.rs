//! From a configuration to the rules in force.
//!
//! Invariant: every setting that widens or narrows a verdict is read here, once.

use crate::config::Config;
use crate::path::CleanPath;
use crate::policy::{AgentRules, Policy, Reach};
use crate::rules::{PathRules, RuleFault};
use crate::shell::guard::Guard;
use crate::subject::AgentId;
use crate::zone::Zones;
use std::collections::BTreeMap;

impl Policy {
    /// The rules of `config` over these zones; in `shared` directories anybody can put something.
    pub fn compile(
        config: &Config,
        zones: BTreeMap<AgentId, Zones>,
        shared: Vec<CleanPath>,
    ) -> Result<Self, RuleFault> {
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
        Ok(Self {
            agents: agents.collect(),
            read_rules: PathRules::compile(&config.tools.allow_read_paths)?,
            write_rules: PathRules::compile(&config.tools.allow_write_paths)?,
            reads,
            writes,
            shared,
            disabled: config.tools.disabled.iter().cloned().collect(),
            guard: Guard::compile(&config.tools.exec)?,
            on_block: config.tools.exec.on_block,
        })
    }
}
