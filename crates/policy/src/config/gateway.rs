//! `gateway`, `heartbeat` and `ledger`.

use super::secret::Secret;
use std::path::PathBuf;

/// `gateway`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    /// `host`.
    pub host: String,
    /// `port`.
    pub port: u16,
    /// `hot_reload`.
    pub hot_reload: bool,
    /// `token`: the bearer token; generated at each start if not configured.
    pub token: Option<Secret>,
    /// `allowed_hosts`: host names besides the loopback ones that a request may address.
    pub allowed_hosts: Vec<String>,
}

/// `ledger.anchor`: where each new head of the audit log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerAnchor {
    /// A file that gets one line for each.
    File(PathBuf),
    /// A program and its arguments; the line is its standard input.
    Command(Vec<String>),
}

/// `heartbeat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// `enabled`.
    pub enabled: bool,
    /// `interval`, in minutes, at least five.
    pub interval_minutes: u64,
}

/// The log level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing: the fatal error is printed on exit.
    Fatal,
    /// Errors.
    Error,
    /// And warnings.
    Warn,
    /// And progress.
    Info,
    /// And every decision.
    Debug,
}
