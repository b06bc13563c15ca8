//! The heartbeat: a regular look at a list of chores in the default agent's workspace.
//!
//! Invariant: the list is text for the model and carries no authority; one beat at a time.

mod beat;
mod chores;

pub use beat::{Beat, Heartbeat, HeartbeatError};
