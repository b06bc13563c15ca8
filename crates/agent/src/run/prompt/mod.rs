//! The instructions of a turn: who the agent is, what its workspace says, what it remembers, what it can look up.
//!
//! Everything from a workspace is plain text that the agent itself may have written. It can ask for much and widens nothing:
//! what an agent may do stands in the configuration alone.
//!
//! Invariant: every part is bounded, read beneath its own directory, and left out with a warning when it cannot be.

mod front_matter;
mod identity;
mod memory;
mod skills;
mod texts;

pub use texts::Texts;
