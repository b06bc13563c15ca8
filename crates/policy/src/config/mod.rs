//! Configuration: from layers of text to one checked value.
//!
//! One table of keys ([`schema()`] exports it) drives everything: what is known, what it takes, what it is by
//! default, which variable sets it, what is masked. [`settle`] lays defaults, file, secrets and environment over each
//! other and answers with a [`Config`] or with every fault and its place. Whoever calls brings the texts; nothing here
//! opens a file.
//!
//! Invariant: a [`Config`] is complete and checked; nothing in it still needs to be looked up or defaulted.

mod accounts;
mod agents;
mod build;
mod check;
mod delegation;
mod document;
mod effective;
mod environment;
mod export;
mod fault;
mod gateway;
mod isolation;
mod leaf;
mod models;
mod overlay;
mod pattern;
mod reveal;
mod schema;
mod secret;
mod settle;
mod show;
mod sources;
mod suggest;
mod tools;
mod warnings;
mod workspaces;

pub use accounts::homes_of_people;
pub use agents::AgentConfig;
pub use check::Notice;
pub use delegation::{DiscoveryConfig, HookConfig, HooksConfig, McpConfig, McpServerConfig, McpTransport};
pub use document::{Entry, Node, Origin, Value};
pub use effective::Config;
pub use export::schema;
pub use fault::{ConfigError, Fault, Place, Problem};
pub use gateway::{GatewayConfig, HeartbeatConfig, LogLevel};
pub use isolation::{Backend, Expose, ExposeMode, IsolationConfig, Limits, Network, Requirement};
pub use models::{ModelConfig, SubturnConfig, TurnConfig};
pub use reveal::{NoVault, Vault};
pub use secret::{MASK, Secret};
pub use settle::{Layers, Settled, Tree, settle};
pub use show::Shown;
pub use sources::Sources;
pub use tools::{ExecConfig, Guard, OnBlock, ToolsConfig, WebConfig};
pub use warnings::{advice, reminders, warnings};
pub use workspaces::{Grounds, WorkspaceFault, check_workspaces};
