//! Configuration: from layers of text to one checked value.
//!
//! One table of keys ([`schema()`] exports it) holds types, defaults, environment variables and
//! masks. [`merge_layers`] merges defaults, file, secrets and environment into a [`Config`], or
//! returns every fault with its location. The texts are arguments; nothing here opens a file.

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
mod resolve_secrets;
mod schema;
mod secret;
mod secret_shape;
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
pub use gateway::{GatewayConfig, HeartbeatConfig, LedgerAnchor, LogLevel};
pub use isolation::{
    Backend, Expose, ExposeMode, IsolationConfig, Limits, Network, OwnIsolation, Requirement,
};
pub use json_schema::schema;
pub use merge::{ConfigTree, Layers, LoadedConfig, merge_layers};
pub use models::{ModelConfig, Price, SubturnConfig, TurnConfig};
pub use passwd::home_directories;
pub use resolve_secrets::{NoSecretSource, SecretSource};
pub use secret::{MASK, Secret};
pub use secret_shape::{looks_secret, mask_words};
pub use show::ShownKey;
pub use sources::Sources;
pub(crate) use suggest::nearest;
pub use tools::{ExecConfig, FenceMode, Guard, OnBlock, ToolsConfig, WebConfig};
pub use warnings::{advice, reminders, warnings};
pub use workspace_rules::{
    ReservedPaths, WorkspaceFault, WorkspacePlace, check_workspaces, system_directories, system_directory,
};
