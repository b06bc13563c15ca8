//! `isolation`. Each target is exposed once, by its last rule.

use crate::network::AllowedHosts;
use crate::protect::ProtectRules;
use crate::refusal::{Code, Layer, Refusal};
use crate::verdict::{Grant, Verdict};
use std::path::PathBuf;
use std::sync::Arc;

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
    /// `unix_sockets`: whether commands without mounts of their own may make UNIX sockets.
    pub unix_sockets: bool,
    /// `limits`.
    pub limits: Limits,
    /// `env.pass`.
    pub env_pass: Vec<String>,
    /// `toolchains`: `auto`, `none` or a list of names.
    pub toolchains: String,
    /// `require`: layers without which no command starts.
    pub require: Vec<Requirement>,
    /// `protect`: what a workspace keeps from its commands.
    pub protect: ProtectRules,
    /// Whether the processes of a cage may trace each other. No key: `--debug` of one command.
    pub debug: bool,
    /// The size of the private directories in MiB, where it is given. No key: `--tmp` of one
    /// command.
    pub tmp_mb: Option<u64>,
}

/// `tools.mcp.servers.*.isolation`: what the cage of one helper has besides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnIsolation {
    /// `expose_paths`, after those of every child.
    pub expose_paths: Vec<Expose>,
    /// `network`; `None` for that of every child.
    pub network: Option<Network>,
}

impl IsolationConfig {
    /// The verdict on a connection that a child makes to a host, at one port or at any.
    pub fn judge_connection(&self, host: &str, port: Option<u16>) -> Verdict {
        let asked = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let open = |rule: &str| Verdict::Allow(Grant { rule: rule.to_owned() });
        match &self.network {
            _ if !self.enabled => open("isolation.enabled:false"),
            Network::Host => open("isolation.network:host"),
            Network::Allow(hosts) => hosts.verdict(host, port),
            Network::None => Verdict::Deny(Refusal {
                code: Code::HostNotAllowed,
                sentence: "access denied: the network is closed".to_owned(),
                rule: "isolation.network:none".to_owned(),
                layer: Layer::Policy,
                hint: format!(
                    "`isolation.network`: {{\"allow\": [\"{asked}\"]}} in the configuration would allow exactly this host"
                ),
            }),
        }
    }

    /// The isolation of a child with more of its own.
    pub fn with_own(&self, own: &OwnIsolation) -> Self {
        let mut isolation = self.clone();
        isolation.expose_paths.extend(own.expose_paths.iter().cloned());
        if let Some(network) = &own.network {
            isolation.network = network.clone();
        }
        isolation
    }
}

/// One entry of `isolation.expose_paths`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expose {
    /// The host path.
    pub source: PathBuf,
    /// The path inside the cage; defaults to the source.
    pub target: PathBuf,
    /// The access.
    pub mode: ExposeMode,
}

/// The access to an exposed path.
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
    /// Native only.
    Native,
    /// Bubblewrap only.
    Bwrap,
}

/// `isolation.network`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// The host's network.
    Host,
    /// A private loopback interface only.
    None,
    /// A private loopback interface, and these hosts by name.
    Allow(Arc<AllowedHosts>),
}

impl Network {
    /// Whether it is the host's own.
    pub fn is_open(&self) -> bool {
        *self == Self::Host
    }

    /// The hosts that are reached by name.
    pub fn hosts(&self) -> Option<&Arc<AllowedHosts>> {
        match self {
            Self::Allow(hosts) => Some(hosts),
            Self::Host | Self::None => None,
        }
    }
}

/// `isolation.limits`. Zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of the process tree, in MiB.
    pub memory_mb: u64,
    /// Number of processes of the tree.
    pub processes: u64,
    /// Maximum file size, in MiB.
    pub file_size_mb: u64,
    /// Open files per process.
    pub open_files: u64,
    /// CPU seconds per process.
    pub cpu_seconds: u64,
}

impl Limits {
    /// No limit at all.
    pub const NONE: Self =
        Self { memory_mb: 0, processes: 0, file_size_mb: 0, open_files: 0, cpu_seconds: 0 };
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
