//! The system prompt of a turn: identity, files of the workspace, skills, memory, and the current
//! time.
//!
//! Files of a workspace may have been written by the agent itself. They are text for the model and
//! change no permission.

mod front_matter;
mod identity;
mod memory;
mod skills;
mod sources;

pub(super) use sources::Instructions;
pub use sources::PromptSources;
