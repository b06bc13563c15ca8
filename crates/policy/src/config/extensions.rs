//! Hooks and MCP servers. Every enabled entry has a command or an address.

use super::isolation::OwnIsolation;
use super::secret::Secret;
use std::path::PathBuf;

/// `hooks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksConfig {
    /// `enabled`.
    pub enabled: bool,
    /// `defaults.observer_timeout_ms`.
    pub observer_timeout_ms: u64,
    /// `defaults.interceptor_timeout_ms`.
    pub interceptor_timeout_ms: u64,
    /// `defaults.approval_timeout_ms`.
    pub approval_timeout_ms: u64,
    /// `processes`, in the order of the file.
    pub processes: Vec<HookConfig>,
}

impl HooksConfig {
    /// Whether any hook is enabled.
    pub fn is_any_enabled(&self) -> bool {
        self.enabled && self.processes.iter().any(|hook| hook.enabled)
    }
}

/// One entry of `hooks.processes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookConfig {
    /// Its name.
    pub name: String,
    /// `enabled`.
    pub enabled: bool,
    /// `priority`: the lowest runs first.
    pub priority: i64,
    /// `command`: program and arguments, without a shell.
    pub command: Vec<String>,
    /// `dir`.
    pub dir: Option<PathBuf>,
    /// `env`.
    pub env: Vec<(String, Secret)>,
    /// `observe`: event kinds.
    pub observe: Vec<String>,
    /// `intercept`: the events it intercepts.
    pub intercept: Vec<String>,
}

/// `tools.mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpConfig {
    /// `enabled`.
    pub enabled: bool,
    /// `max_inline_text_chars`.
    pub max_inline_text_chars: u64,
    /// `discovery`.
    pub discovery: DiscoveryConfig,
    /// `servers`, in the order of the file.
    pub servers: Vec<McpServerConfig>,
}

/// `tools.mcp.discovery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscoveryConfig {
    /// Whether tools are hidden until a search finds them.
    pub enabled: bool,
    /// Tool rounds that a found tool stays visible.
    pub ttl: u64,
    /// Maximum number of search results.
    pub max_search_results: u64,
    /// Whether search by words is offered.
    pub use_bm25: bool,
    /// Whether search by regular expression is offered.
    pub use_regex: bool,
}

/// One entry of `tools.mcp.servers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerConfig {
    /// Its name.
    pub name: String,
    /// `enabled`.
    pub enabled: bool,
    /// `deferred`; defaults to `discovery.enabled`.
    pub deferred: bool,
    /// The transport.
    pub transport: McpTransport,
    /// `isolation`.
    pub isolation: OwnIsolation,
}

/// The transport of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A child process that uses its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment variables.
        env: Vec<(String, Secret)>,
        /// A file with further variables.
        env_file: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
    },
}
