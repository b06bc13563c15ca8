//! The desk: decides, from a description alone, whether an effect may happen.
//!
//! This crate knows nobody. It opens no file, reads no clock and starts nothing; whoever asks brings the
//! facts along, as an [`Intent`], and takes a [`Verdict`] away.
//!
//! Invariant: pure. The same [`Intent`] under the same [`Policy`] earns the same [`Verdict`].

pub mod config;
mod intent;
pub mod network;
mod path;
mod path_rules;
mod policy;
mod refusal;
pub mod shell;
mod spawning;
mod subject;
mod verdict;
mod zone;

pub use intent::{
    Access, ExecIntent, FileKind, Intent, Link, LinkOwner, McpCallIntent, PathLocation, ScheduleIntent,
    SessionIntent, Target,
};
pub use path::{CleanPath, PathFault};
pub use path_rules::{PathRules, RuleFault, literal_directory};
pub use policy::{AgentRules, CommandContext, Policy, PolicyFault, Reach, Route};
pub use refusal::{Code, Layer, Refusal};
pub use spawning::{SpawnIntent, SpawnKind, Spawning};
pub use subject::{AgentId, Origin, Subject};
pub use verdict::{Grant, Question, Verdict};
pub use zone::{Protected, Zone, Zones};
