//! The configuration as meaning-bearing types.
//!
//! Invariant: a [`Config`] is complete and checked; nothing in it still needs to be looked up or defaulted.

use crate::subject::AgentId;
use std::path::PathBuf;

/// The effective configuration: defaults, file, secrets and environment laid over each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Every agent, `main` first unless the file leaves it out.
    pub agents: Vec<AgentConfig>,
    /// `agents.defaults.restrict_to_workspace`.
    pub restrict_to_workspace: bool,
    /// `agents.defaults.allow_read_outside_workspace`.
    pub allow_read_outside_workspace: bool,
    /// `tools`.
    pub tools: ToolsConfig,
    /// `isolation`.
    pub isolation: IsolationConfig,
    /// `gateway.log_level`, which `PICOCLAW_LOG_LEVEL` overrides; `None` when nobody said.
    pub log_level: Option<LogLevel>,
    /// Every secret value known from configuration, secrets file or environment: what redaction must not let through.
    pub secrets: Vec<String>,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Its name.
    pub id: AgentId,
    /// Its workspace, `~` expanded; `None` is the default place for its name.
    pub workspace: Option<PathBuf>,
    /// Tools that are switched off for it.
    pub disabled_tools: Vec<String>,
    /// Agents it may start as subagents.
    pub allow_agents: Vec<String>,
    /// The model it asks for, if it says.
    pub model: Option<String>,
}

/// `tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsConfig {
    /// `tools.allow_read_paths`.
    pub allow_read_paths: Vec<String>,
    /// `tools.allow_write_paths`.
    pub allow_write_paths: Vec<String>,
    /// Tools whose `tools.<name>.enabled` is false.
    pub disabled: Vec<String>,
    /// `tools.read_file.max_read_file_size`, in bytes.
    pub max_read_file_size: u64,
    /// `tools.exec`.
    pub exec: ExecConfig,
    /// `tools.cron.exec_timeout_minutes`.
    pub cron_exec_timeout_minutes: u64,
}

/// `tools.exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecConfig {
    /// `enable_deny_patterns`.
    pub enable_deny_patterns: bool,
    /// `custom_deny_patterns`.
    pub custom_deny_patterns: Vec<String>,
    /// `custom_allow_patterns`.
    pub custom_allow_patterns: Vec<String>,
    /// `timeout_seconds`.
    pub timeout_seconds: u64,
    /// `guard`.
    pub guard: Guard,
    /// `fence`.
    pub fence: bool,
    /// `on_block`.
    pub on_block: OnBlock,
}

/// How the guard reads a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The documented patterns on the text, and the parsed command.
    Strict,
    /// The parsed command alone.
    Smart,
}

/// What happens to a blocked command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBlock {
    /// It is refused.
    Deny,
    /// A person is asked.
    Ask,
}

/// `isolation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationConfig {
    /// `enabled`.
    pub enabled: bool,
    /// `expose_paths`.
    pub expose_paths: Vec<Expose>,
    /// `backend`.
    pub backend: Backend,
    /// `network`.
    pub network: Network,
    /// `limits`.
    pub limits: Limits,
    /// `env.pass`.
    pub env_pass: Vec<String>,
    /// `toolchains`: `auto`, `none` or a list of names.
    pub toolchains: String,
    /// `require`: layers without which nothing starts.
    pub require: Vec<Requirement>,
}

/// One entry of `isolation.expose_paths`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expose {
    /// The host path.
    pub source: PathBuf,
    /// The path inside; the source when not given.
    pub target: PathBuf,
    /// How it is shown.
    pub mode: ExposeMode,
}

/// How a host path is shown inside the cage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExposeMode {
    /// `ro`.
    ReadOnly,
    /// `rw`.
    ReadWrite,
}

/// `isolation.backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Native, else bubblewrap, else Landlock, else refuse.
    Auto,
    /// Our own cage or nothing.
    Native,
    /// Bubblewrap or nothing.
    Bwrap,
}

/// `isolation.network`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The host's network.
    Host,
    /// A private loopback alone.
    None,
}

/// `isolation.limits`; zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of the whole tree, in MiB.
    pub memory_mb: u64,
    /// Processes of the whole tree.
    pub processes: u64,
    /// The largest file, in MiB.
    pub file_size_mb: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Processor seconds of one process.
    pub cpu_seconds: u64,
}

/// A layer that `isolation.require` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// `filesystem`.
    Filesystem,
    /// `network`.
    Network,
    /// `processes`.
    Processes,
    /// `syscalls`.
    Syscalls,
    /// `limits`.
    Limits,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Errors alone.
    Error,
    /// And warnings.
    Warn,
    /// And what goes on.
    Info,
    /// And every decision.
    Debug,
}
