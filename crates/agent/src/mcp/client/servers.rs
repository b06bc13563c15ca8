//! All servers of the configuration. One that fails is reported and left out; the others are used.

use super::error::McpError;
use super::server::Server;
use super::tool::McpTool;
use super::tool_names::offered_name;
use crate::mcp::pins::{PinStatus, Pins};
use crate::tools::{Discovery, Registry, SearchTool, Tool};
use picoclaw_policy::Subject;
use picoclaw_policy::config::{McpConfig, McpServerConfig};
use picoclaw_sandbox::warden::Warden;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The enabled servers, connected or not.
pub struct McpServers {
    servers: Vec<Arc<Server>>,
    /// The names of all of them.
    names: Vec<String>,
    discovery: Arc<Discovery>,
    max_inline: usize,
}

/// The result of connecting to all servers.
pub struct Connected {
    /// The tools of the connected servers.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Failures and first uses, for the operator.
    pub notices: Vec<String>,
}

/// The result of testing one server.
#[derive(Debug)]
pub struct ServerTest {
    /// Its tools, in its order.
    pub tools: Vec<ToolInfo>,
    /// The negotiated protocol version.
    pub protocol_version: Option<String>,
    /// Whether its tools were pinned by this test.
    pub is_new: bool,
}

/// A server's description of a tool.
#[derive(Debug)]
pub struct ToolInfo {
    /// The name under which it is offered.
    pub name: String,
    /// The server's own name for it.
    pub server_name: String,
    /// The description.
    pub about: String,
    /// The input schema.
    pub schema: Value,
}

impl McpServers {
    /// The enabled servers of the configuration; none is connected yet.
    pub fn new(config: &McpConfig, warden: &Arc<Warden>, pins: Pins, subject: &Subject) -> Self {
        let pins = Arc::new(pins);
        let enabled = config.servers.iter().filter(|server| config.enabled && server.enabled);
        let names = enabled.clone().map(|server| server.name.clone()).collect();
        let servers = enabled
            .map(|server| {
                Arc::new(Server::new(server.clone(), Arc::clone(warden), Arc::clone(&pins), subject.clone()))
            })
            .collect();
        let max_inline = usize::try_from(config.max_inline_text_chars).unwrap_or(usize::MAX);
        Self { servers, names, discovery: Arc::new(Discovery::new(&config.discovery)), max_inline }
    }

    /// Whether no server is enabled.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Connects to all servers concurrently.
    pub async fn connect_all(&self) -> Connected {
        let mut connecting = tokio::task::JoinSet::new();
        for (number, server) in self.servers.iter().enumerate() {
            let server = Arc::clone(server);
            connecting.spawn(async move { (number, server.list_tools().await) });
        }
        let mut results = Vec::new();
        while let Some(result) = connecting.join_next().await {
            results.extend(result);
        }
        results.sort_by_key(|(number, _)| *number);
        let (mut offered, mut notices) = (Vec::new(), Vec::new());
        for (number, result) in results {
            let server = &self.servers[number];
            match result {
                Err(why) => notices.push(format!("{why}; the turn goes on without it")),
                Ok((list, status)) => {
                    if status == PinStatus::First {
                        notices.push(format!(
                            "MCP server `{}` is new: its {} tools are pinned as they are now",
                            server.name(),
                            list.tools().len()
                        ));
                    }
                    let new = |tool| McpTool::new(server, tool, self.max_inline, &self.names);
                    offered.extend(list.tools().iter().filter_map(new));
                }
            }
        }
        let mut spelled: BTreeMap<String, usize> = BTreeMap::new();
        for tool in &offered {
            *spelled.entry(tool.spelled_name()).or_default() += 1;
        }
        let is_shared = |tool: &McpTool| spelled.get(&tool.spelled_name()).is_some_and(|count| *count > 1);
        notices.extend(offered.iter().filter_map(|tool| tool.renamed(is_shared(tool))));
        let offered = without_duplicates(offered, &mut notices);
        let mut tools: Vec<Arc<dyn Tool>> = offered.into_iter().map(|tool| Arc::new(tool) as _).collect();
        let hidden: Vec<_> = tools.iter().filter(|tool| tool.is_deferred()).cloned().collect();
        tools.extend(SearchTool::all(&hidden, &self.discovery).into_iter().map(|tool| Arc::new(tool) as _));
        Connected { tools, notices }
    }

    /// `registry` with these tools; the deferred ones are hidden until they are found.
    pub fn extend_registry(&self, registry: &Registry, tools: Vec<Arc<dyn Tool>>) -> Registry {
        registry.with(tools).hiding(Arc::clone(&self.discovery))
    }

    /// Ends every server.
    pub async fn close(&self) {
        for server in &self.servers {
            server.close().await;
        }
    }

    /// Connects to one server within `ready_timeout` and lists its tools under the names that they
    /// have beside `servers`.
    pub async fn test(
        config: &McpServerConfig,
        warden: &Arc<Warden>,
        pins: Pins,
        subject: &Subject,
        ready_timeout: Duration,
        servers: &[String],
    ) -> Result<ServerTest, McpError> {
        let server = Server::new(config.clone(), Arc::clone(warden), Arc::new(pins), subject.clone());
        let server = server.with_ready_timeout(ready_timeout);
        let listed = server.list_tools().await;
        let protocol_version = server.protocol_version().await;
        server.close().await;
        let (list, status) = listed?;
        let tools = list.tools().iter().map(|tool| ToolInfo::new(&config.name, tool, servers));
        Ok(ServerTest { tools: tools.collect(), protocol_version, is_new: status == PinStatus::First })
    }
}

/// Leaves out every tool whose name another one has as well: a call could reach either.
fn without_duplicates(tools: Vec<McpTool>, notices: &mut Vec<String>) -> Vec<McpTool> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for tool in &tools {
        *counts.entry(tool.name().to_owned()).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    notices.extend(
        counts.keys().map(|name| format!("several MCP tools are called `{name}`; none of them is offered")),
    );
    tools.into_iter().filter(|tool| !counts.contains_key(tool.name())).collect()
}

impl ToolInfo {
    fn new(server: &str, tool: &Value, servers: &[String]) -> Self {
        let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let server_name = text("name");
        let schema = tool.get("inputSchema").cloned().unwrap_or_default();
        let name = offered_name(server, &server_name, servers);
        Self { name, server_name, about: text("description"), schema }
    }
}
