//! All servers of the configuration.
//!
//! Invariant: one server that cannot be had does not keep the others away; it is named and left out.

use super::error::McpError;
use super::search::{Discovery, SearchTool};
use super::server::Server;
use super::tool::McpTool;
use crate::mcp::pins::{Pins, Standing};
use crate::tools::{Registry, Tool};
use picoclaw_policy::Subject;
use picoclaw_policy::config::{McpConfig, McpServerConfig};
use picoclaw_sandbox::warden::Warden;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The servers, each connected or not.
pub struct Fleet {
    servers: Vec<Arc<Server>>,
    discovery: Arc<Discovery>,
    max_inline: usize,
}

/// What starting the servers came to.
pub struct Joined {
    /// The tools of those that came.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What a person should know: who did not come and why, who is new.
    pub notices: Vec<String>,
}

/// What trying one server came to.
#[derive(Debug)]
pub struct Trial {
    /// Its tools, in its order.
    pub tools: Vec<Offered>,
    /// The revision of the protocol that was agreed on.
    pub revision: Option<String>,
    /// Whether it was seen for the first time.
    pub is_new: bool,
}

/// A tool as a server describes it.
#[derive(Debug)]
pub struct Offered {
    /// Its name among ours.
    pub name: String,
    /// Its own name.
    pub theirs: String,
    /// What the server says of it.
    pub about: String,
    /// What it takes.
    pub schema: Value,
}

impl Fleet {
    /// The enabled servers of the configuration; nothing is connected yet.
    pub fn new(config: &McpConfig, warden: &Arc<Warden>, pins: Pins, subject: &Subject) -> Self {
        let pins = Arc::new(pins);
        let enabled = config.servers.iter().filter(|server| config.enabled && server.enabled);
        let servers = enabled
            .map(|server| {
                Arc::new(Server::new(server.clone(), Arc::clone(warden), Arc::clone(&pins), subject.clone()))
            })
            .collect();
        let max_inline = usize::try_from(config.max_inline_text_chars).unwrap_or(usize::MAX);
        Self { servers, discovery: Arc::new(Discovery::new(&config.discovery)), max_inline }
    }

    /// Whether there is nobody to ask.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Connects to every server at once, and brings their tools.
    pub async fn join(&self) -> Joined {
        let mut starting = tokio::task::JoinSet::new();
        for (number, server) in self.servers.iter().enumerate() {
            let server = Arc::clone(server);
            starting.spawn(async move { (number, server.tools().await) });
        }
        let mut came = Vec::new();
        while let Some(done) = starting.join_next().await {
            came.extend(done);
        }
        came.sort_by_key(|(number, _)| *number);
        let (mut tools, mut notices): (Vec<Arc<dyn Tool>>, Vec<String>) = (Vec::new(), Vec::new());
        for (number, outcome) in came {
            let server = &self.servers[number];
            match outcome {
                Err(why) => notices.push(format!("{why}; the turn goes on without it")),
                Ok((list, standing)) => {
                    if standing == Standing::First {
                        notices.push(format!(
                            "MCP server `{}` is new: its {} tools are pinned as they are now",
                            server.name(),
                            list.tools().len()
                        ));
                    }
                    let theirs = list.tools().iter();
                    let theirs = theirs.filter_map(|tool| McpTool::new(server, tool, self.max_inline));
                    tools.extend(theirs.map(|tool| Arc::new(tool) as Arc<dyn Tool>));
                }
            }
        }
        let hidden: Vec<_> = tools.iter().filter(|tool| tool.is_deferred()).cloned().collect();
        tools.extend(SearchTool::all(&hidden, &self.discovery).into_iter().map(|tool| Arc::new(tool) as _));
        Joined { tools, notices }
    }

    /// `registry` with these tools, and with what keeps the deferred ones hidden.
    pub fn fit(&self, registry: &Registry, tools: Vec<Arc<dyn Tool>>) -> Registry {
        registry.with(tools).hiding(Arc::clone(&self.discovery) as _)
    }

    /// Ends every server.
    pub async fn close(&self) {
        for server in &self.servers {
            server.close().await;
        }
    }

    /// Connects to one server, alone, within `ready`, and lists its tools.
    pub async fn test(
        config: &McpServerConfig,
        warden: &Arc<Warden>,
        pins: Pins,
        subject: &Subject,
        ready: Duration,
    ) -> Result<Trial, McpError> {
        let server = Server::new(config.clone(), Arc::clone(warden), Arc::new(pins), subject.clone());
        let server = server.within(ready);
        let found = server.tools().await;
        let revision = server.revision().await;
        server.close().await;
        let (list, standing) = found?;
        let tools = list.tools().iter().map(|tool| Offered::of(&config.name, tool));
        Ok(Trial { tools: tools.collect(), revision, is_new: standing == Standing::First })
    }
}

impl Offered {
    fn of(server: &str, tool: &Value) -> Self {
        let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let theirs = text("name");
        let schema = tool.get("inputSchema").cloned().unwrap_or_default();
        Self { name: super::naming::tool_name(server, &theirs), theirs, about: text("description"), schema }
    }
}
