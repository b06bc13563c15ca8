//! Hooks and MCP servers: started with the first turn, ended with the program.

use super::event::Event;
use super::turn::TurnError;
use crate::executor::ToolExecutor;
use crate::hooks::Hooks;
use crate::mcp::client::{Connected, McpServers};
use crate::mcp::pins::Pins;
use picoclaw_policy::config::Config;
use picoclaw_policy::{Origin, Subject};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Hooks and MCP servers of one program.
pub(super) struct Extensions {
    config: Arc<Config>,
    home: PathBuf,
    started: OnceCell<Started>,
}

struct Started {
    hooks: Arc<Hooks>,
    servers: McpServers,
    /// What the first turn is told about the servers.
    notices: Vec<String>,
}

impl Extensions {
    /// Nothing runs yet.
    pub(super) fn new(config: Arc<Config>, home: PathBuf) -> Self {
        Self { config, home, started: OnceCell::new() }
    }

    /// Waits until everything has started, and returns the hooks. A server that does not start is
    /// named and left out; a hook that does not start is an error, since its decisions are unknown.
    pub(super) async fn ready(
        &self,
        executor: &ToolExecutor,
        events: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<Arc<Hooks>, TurnError> {
        let mut is_first = false;
        let started = self
            .started
            .get_or_try_init(|| async {
                is_first = true;
                self.start(executor).await
            })
            .await?;
        if is_first {
            started.notices.iter().for_each(|notice| events(Event::Notice(notice.clone())));
        }
        started.hooks.start_all().await.map_err(|error| TurnError::Hook(error.to_string()))?;
        Ok(Arc::clone(&started.hooks))
    }

    async fn start(&self, executor: &ToolExecutor) -> Result<Started, TurnError> {
        let agent = self.config.default_agent.clone();
        let subject = |origin, session: &str| Subject::root(origin, agent.clone(), session);
        let hooks = Hooks::new(&self.config.hooks, executor.warden(), &subject(Origin::Hook, "hooks"));
        let pins = Pins::open(&self.home).map_err(|error| TurnError::Hook(error.to_string()))?;
        let servers =
            McpServers::new(&self.config.mcp, executor.warden(), pins, &subject(Origin::Mcp, "servers"));
        let mut notices = Vec::new();
        if !servers.is_empty() {
            let joined: Connected = servers.connect_all().await;
            executor.replace_registry(servers.extend_registry(&executor.registry(), joined.tools));
            notices = joined.notices;
        }
        Ok(Started { hooks: Arc::new(hooks), servers, notices })
    }

    /// Gives everything time to exit.
    pub(super) async fn close(&self) {
        if let Some(started) = self.started.get() {
            started.hooks.close().await;
            started.servers.close().await;
        }
    }
}
