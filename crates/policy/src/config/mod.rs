//! Configuration: from layers of text to one checked value.
//!
//! One table of keys ([`schema()`] exports it) drives everything: what is known, what it takes, what it is by
//! default, which variable sets it, what is masked. [`merge_layers`] lays defaults, file, secrets and environment over each
//! other and answers with a [`Config`] or with every fault and its place. Whoever calls brings the texts; nothing here
//! opens a file.
//!
//! Invariant: a [`Config`] is complete and checked; nothing in it still needs to be looked up or defaulted.

mod agents;
mod build;
mod check;
mod check_value;
#[expect(clippy::module_inception, reason = "the file is named after the type it defines")]
mod config;
mod document;
mod environment;
mod extensions;
mod fault;
mod gateway;
mod isolation;
mod json_schema;
mod merge;
mod models;
mod passwd;
mod pattern;
mod resolve_secrets;
mod schema;
mod secret;
mod secrets_layer;
mod show;
mod sources;
mod suggest;
mod tools;
mod warnings;
mod workspace_rules;

pub use agents::AgentConfig;
pub use check::Notice;
pub use config::Config;
pub use document::{Entry, Node, Origin, Value};
pub use extensions::{DiscoveryConfig, HookConfig, HooksConfig, McpConfig, McpServerConfig, McpTransport};
pub use fault::{ConfigError, Fault, Problem, SourceLocation};
pub use gateway::{GatewayConfig, HeartbeatConfig, LogLevel};
pub use isolation::{Backend, Expose, ExposeMode, IsolationConfig, Limits, Network, Requirement};
pub use json_schema::schema;
pub use merge::{ConfigTree, Layers, LoadedConfig, merge_layers};
pub use models::{ModelConfig, SubturnConfig, TurnConfig};
pub use passwd::homes_of_people;
pub use resolve_secrets::{NoSecretSource, SecretSource};
pub use secret::{MASK, Secret};
pub use show::Shown;
pub use sources::Sources;
pub use tools::{ExecConfig, Guard, OnBlock, ToolsConfig, WebConfig};
pub use warnings::{advice, reminders, warnings};
pub use workspace_rules::{ReservedPaths, WorkspaceFault, check_workspaces};
