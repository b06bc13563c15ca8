//! Decides, from a description alone, whether an effect may happen.
//!
//! The crate is pure: it opens no file, reads no clock and starts no process. Callers pass the
//! facts in an [`Intent`] and get a [`Verdict`]; the same intent under the same [`Policy`] gets the
//! same verdict.

pub mod config;
mod credentials;
mod intent;
pub mod network;
mod path;
mod path_rules;
mod policy;
mod profile;
mod protect;
mod refusal;
pub mod shell;
mod spawning;
mod subject;
mod verdict;
pub mod windows_path;
mod zone;

pub use intent::{
    Access, ExecIntent, FileKind, Intent, Link, LinkOwner, McpCallIntent, PathLocation, ScheduleIntent,
    SessionIntent, Target,
};
pub use path::{CleanPath, PathFault};
pub use path_rules::{LiteralPath, PathRules, RuleFault, literal_path, literal_prefix};
pub use policy::{AgentRules, CommandContext, Policy, PolicyFault, Reach, Route};
pub use profile::{BUILT_IN_PROFILES, HomeEntry, Profile, ProfileFault, home_path_fault, is_profile_name};
pub use protect::{DEFAULT_PROTECT, ProtectRules, is_tool_directory};
pub use refusal::{ASK_RULE, Code, Layer, Refusal};
pub use spawning::{SpawnIntent, SpawnKind, Spawning};
pub use subject::{AgentId, Origin, Subject};
pub use verdict::{Grant, Question, Verdict};
pub use zone::{Protected, Zones};
