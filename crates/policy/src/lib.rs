//! The desk: decides, from a description alone, whether an effect may happen.
//!
//! This crate knows nobody. It opens no file, reads no clock and starts nothing; whoever asks brings the
//! facts along, as an [`Intent`], and takes a [`Verdict`] away.
//!
//! Invariant: pure. The same [`Intent`] under the same [`Policy`] earns the same [`Verdict`].

mod compile;
pub mod config;
mod intent;
pub mod network;
mod path;
mod policy;
mod refusal;
mod refusals;
mod rules;
pub mod shell;
mod spawning;
mod subject;
mod verdict;
mod zone;

pub use compile::PolicyFault;
pub use intent::{
    Access, AttendIntent, ConsultIntent, ExecIntent, FileKind, Intent, Landing, Link, LinkOwner,
    ScheduleIntent, Target,
};
pub use path::{CleanPath, PathFault, lies_in};
pub use policy::{AgentRules, Ground, Policy, Reach, Route};
pub use refusal::{Code, Layer, Refusal};
pub use rules::{PathRules, RuleFault, literal_directory};
pub use spawning::{SpawnIntent, Spawning, Way};
pub use subject::{AgentId, Origin, Subject};
pub use verdict::{Grant, Question, Verdict};
pub use zone::{Protected, Zone, Zones};
