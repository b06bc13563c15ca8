//! Hooks and MCP servers: other people's programs that the operator lets in.
//!
//! Invariant: what is enabled has a command or an address.

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
    /// Whether calls have anybody to pass.
    pub fn are_any(&self) -> bool {
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
    /// `priority`: lower comes first.
    pub priority: i64,
    /// `command`: program and arguments, no shell.
    pub command: Vec<String>,
    /// `dir`.
    pub dir: Option<PathBuf>,
    /// `env`.
    pub env: Vec<(String, Secret)>,
    /// `observe`: event kinds.
    pub observe: Vec<String>,
    /// `intercept`: moments it is asked at.
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
    /// Whether tools stay hidden until they are searched for.
    pub enabled: bool,
    /// Tool rounds that a found tool stays visible.
    pub ttl: u64,
    /// How many a search answers with.
    pub max_search_results: u64,
    /// Whether words may be searched for.
    pub use_bm25: bool,
    /// Whether patterns may be searched for.
    pub use_regex: bool,
}

/// One entry of `tools.mcp.servers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerConfig {
    /// Its name.
    pub name: String,
    /// `enabled`.
    pub enabled: bool,
    /// `deferred`; `discovery.enabled` when nobody said.
    pub deferred: bool,
    /// How it is reached.
    pub transport: McpTransport,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A child that speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What its environment gets.
        env: Vec<(String, Secret)>,
        /// A file with more of the environment.
        env_file: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers sent along.
        headers: Vec<(String, Secret)>,
    },
}
