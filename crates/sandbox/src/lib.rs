//! Effects under authority: files, commands, helper programs and connections.
//!
//! Looking needs no authority. Each effect needs a [`Permit`](permit::Permit), which only the
//! [`Warden`](warden::Warden) issues, after the policy has judged it and the ledger has recorded
//! the decision. This crate is synchronous.

pub mod act;
pub mod agent_writable;
pub mod always;
pub mod authors;
mod boot_id;
pub mod bounded_lines;
pub mod broker;
mod canonical_json;
mod command_code;
mod command_error;
pub mod confine;
mod dial;
pub mod effects;
pub mod exec;
pub mod fetched;
pub mod file_lock;
pub mod files;
pub mod helper;
mod host_agents;
pub mod instance;
pub mod isolate;
pub mod launch;
pub mod ledger;
pub mod ledger_anchor;
pub mod line_proxy;
pub mod os_file;
pub mod outbound;
pub mod permit;
pub mod presence;
mod printable;
pub mod project_envs;
pub mod protect;
mod redact;
pub mod root;
pub mod sd_notify;
pub mod state_dir;
pub mod terminal;
pub mod trust;
pub mod warden;
pub mod workspace_reader;

pub use canonical_json::canonical_json;
pub use command_error::CommandError;
pub use host_agents::{HostAgentError, HostAgents};
pub use printable::{
    first_chars, printable, printable_json, printable_lines, printable_path, shell_word, shortened,
    unambiguous,
};
pub use redact::{Redactor, is_guessable};
