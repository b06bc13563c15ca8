//! `tools`: which tools are offered, and their limits.

use super::secret::Secret;

/// `tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsConfig {
    /// `tools.allow_read_paths`.
    pub allow_read_paths: Vec<String>,
    /// `tools.allow_write_paths`.
    pub allow_write_paths: Vec<String>,
    /// Tools whose `tools.<name>.enabled` is false.
    pub disabled: Vec<String>,
    /// `tools.ask`: tools whose every call a person must approve.
    pub ask: Vec<String>,
    /// `tools.read_file.max_read_file_size`, in bytes.
    pub max_read_file_size: u64,
    /// `tools.exec`.
    pub exec: ExecConfig,
    /// `tools.cron.exec_timeout_minutes`; zero is no limit.
    pub cron_exec_timeout_minutes: u64,
    /// `tools.cron.allow_command`: whether a job may be a command.
    pub cron_allow_command: bool,
    /// `tools.web`, as far as `web_fetch` uses it.
    pub web: WebConfig,
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
    /// `timeout_seconds`; never zero, because zero in the file means the default.
    pub timeout_seconds: u64,
    /// `guard`.
    pub guard: Guard,
    /// `fence`.
    pub fence: FenceMode,
    /// `on_block`.
    pub on_block: OnBlock,
}

/// How the guard judges a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Documented patterns on the text, and the parsed command.
    Strict,
    /// The parsed command only.
    Smart,
}

/// What the kernel holds of commands while isolation is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceMode {
    /// Reads and writes.
    Full,
    /// Writes only.
    Writes,
    /// Nothing.
    Off,
}

/// What happens to a blocked command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBlock {
    /// It is refused.
    Deny,
    /// A person is asked.
    Ask,
}

/// `tools.web`, without its search engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebConfig {
    /// `fetch_limit_bytes`.
    pub fetch_limit_bytes: u64,
    /// `private_host_whitelist`: private addresses and networks that may be fetched from.
    pub private_host_whitelist: Vec<String>,
    /// `proxy`, which may contain a password.
    pub proxy: Option<Secret>,
    /// `format`: `plaintext` or `markdown`.
    pub format: String,
}
