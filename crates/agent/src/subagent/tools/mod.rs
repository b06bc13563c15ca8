//! The tools that start subagents and report their status.

mod admit;
mod delegate;
mod spawn;
mod status;
mod subagent;

use super::status::StatusLogs;
use crate::run::TurnRegistry;
use crate::tools::Tool;
use delegate::Delegate;
use picoclaw_policy::config::Config;
use spawn::SpawnTool;
use status::SpawnStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use subagent::SubagentTool;

/// What the tools share.
struct Shared {
    turns: Arc<TurnRegistry>,
    status: StatusLogs,
    count: AtomicU64,
}

impl Shared {
    /// An id that no other subagent of this program has.
    fn next_id(&self) -> String {
        format!("subagent-{}", self.count.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// All of them; `delegate` only where there is another agent.
pub(super) fn all(turns: &Arc<TurnRegistry>, config: &Config) -> Vec<Arc<dyn Tool>> {
    let shared = Arc::new(Shared {
        turns: Arc::clone(turns),
        status: StatusLogs::default(),
        count: AtomicU64::new(0),
    });
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(SpawnTool(Arc::clone(&shared))),
        Arc::new(SubagentTool(Arc::clone(&shared))),
        Arc::new(SpawnStatus(Arc::clone(&shared))),
    ];
    if config.agents.len() > 1 {
        tools.push(Arc::new(Delegate::new(&shared, config)));
    }
    tools
}
