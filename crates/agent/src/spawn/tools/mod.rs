//! The tools that start subagents and ask after them.
//!
//! Invariant: each is judged and recorded like every call.

mod delegate;
mod spawn;
mod start;
mod status;
mod subagent;

use super::kin::Kin;
use crate::tools::Tool;
use delegate::Delegate;
use picoclaw_policy::config::Config;
use spawn::SpawnTool;
use status::SpawnStatus;
use std::sync::Arc;
use subagent::SubagentTool;

/// All of them; handing over to another agent needs another agent.
pub(super) fn all(kin: &Arc<Kin>, config: &Config) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(SpawnTool(Arc::clone(kin))),
        Arc::new(SubagentTool(Arc::clone(kin))),
        Arc::new(SpawnStatus(Arc::clone(kin))),
    ];
    if config.agents.len() > 1 {
        tools.push(Arc::new(Delegate::new(kin, config)));
    }
    tools
}
