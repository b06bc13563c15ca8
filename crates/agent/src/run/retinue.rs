//! Whoever accompanies turns: hooks that may object, servers that lend tools.
//!
//! Both are started with the first turn and stay until the end. A server that does not come is named and left out; a hook
//! that does not come fails the turn, since nobody knows what it would have said.
//!
//! Invariant: no turn runs past a hook that was asked for and is not there.

use super::event::Event;
use super::turn::TurnError;
use crate::hall::Hall;
use crate::hooks::Hooks;
use crate::mcp::client::{Connected, McpServers};
use crate::mcp::pins::Pins;
use picoclaw_policy::config::Config;
use picoclaw_policy::{Origin, Subject};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Hooks and servers of one program.
pub(super) struct Retinue {
    config: Arc<Config>,
    home: PathBuf,
    here: OnceCell<Here>,
}

struct Here {
    hooks: Arc<Hooks>,
    servers: McpServers,
    /// What the first turn is told about the servers.
    notices: Vec<String>,
}

impl Retinue {
    /// Nobody yet.
    pub(super) fn new(config: Arc<Config>, home: PathBuf) -> Self {
        Self { config, home, here: OnceCell::new() }
    }

    /// Waits until everybody who comes is there; the hooks.
    pub(super) async fn ready(
        &self,
        hall: &Hall,
        events: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<Arc<Hooks>, TurnError> {
        let mut is_first = false;
        let here = self
            .here
            .get_or_try_init(|| async {
                is_first = true;
                self.gather(hall).await
            })
            .await?;
        if is_first {
            here.notices.iter().for_each(|notice| events(Event::Notice(notice.clone())));
        }
        here.hooks.start_all().await.map_err(|why| TurnError::Hook(why.to_string()))?;
        Ok(Arc::clone(&here.hooks))
    }

    async fn gather(&self, hall: &Hall) -> Result<Here, TurnError> {
        let agent = self.config.default_agent.clone();
        let guest = |origin, session: &str| Subject::root(origin, agent.clone(), session);
        let hooks = Hooks::new(&self.config.hooks, hall.warden(), &guest(Origin::Hook, "hooks"));
        let pins = Pins::open(&self.home).map_err(|why| TurnError::Hook(why.to_string()))?;
        let servers = McpServers::new(&self.config.mcp, hall.warden(), pins, &guest(Origin::Mcp, "servers"));
        let mut notices = Vec::new();
        if !servers.is_empty() {
            let Connected { tools, notices: told } = servers.connect_all().await;
            hall.refit(servers.extend_registry(&hall.registry(), tools));
            notices = told;
        }
        Ok(Here { hooks: Arc::new(hooks), servers, notices })
    }

    /// Gives everybody time to leave.
    pub(super) async fn close(&self) {
        if let Some(here) = self.here.get() {
            here.hooks.close().await;
            here.servers.close().await;
        }
    }
}
