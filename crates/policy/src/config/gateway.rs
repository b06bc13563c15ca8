//! `gateway` and `heartbeat`: the long-running process.
//!
//! Invariant: the port can be bound to, and the interval is never zero.

use super::secret::Secret;

/// `gateway`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    /// `host`.
    pub host: String,
    /// `port`.
    pub port: u16,
    /// `hot_reload`.
    pub hot_reload: bool,
    /// `token`: what a client must show; made anew at each start when nobody said.
    pub token: Option<Secret>,
    /// `allowed_hosts`: names, beside the loopback ones, that a request may be for.
    pub allowed_hosts: Vec<String>,
}

/// `heartbeat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// `enabled`.
    pub enabled: bool,
    /// `interval`, in minutes, at least five.
    pub interval_minutes: u64,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing: what ends the program is said on the way out.
    Fatal,
    /// Errors alone.
    Error,
    /// And warnings.
    Warn,
    /// And what goes on.
    Info,
    /// And every decision.
    Debug,
}
