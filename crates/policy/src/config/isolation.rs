//! `isolation`: the cage, as the operator asks for it.
//!
//! Invariant: each target is exposed once, by the last rule that named it.

use std::path::PathBuf;

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
