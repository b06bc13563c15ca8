//! What the watcher of a turn hears about its subagents.
//!
//! Invariant: whatever a subagent does is told under its own name, secrets filtered.

use crate::run::Event;
use picoclaw_policy::AgentId;
use std::time::Duration;

/// Which subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// Its name in this program: `subagent-3`.
    pub id: String,
    /// What its parent calls it; its id when it says nothing.
    pub label: String,
    /// The agent it is.
    pub agent: AgentId,
    /// How many spawns lie between it and a person.
    pub depth: u32,
}

/// Something about a subagent.
#[derive(Debug)]
pub struct Subturn {
    /// Which one.
    pub who: Who,
    /// What.
    pub what: Turning,
}

/// What there is to tell about a subagent.
#[derive(Debug)]
pub enum Turning {
    /// It was started.
    Began {
        /// What it was told.
        task: String,
    },
    /// Something happened in its turn.
    Event(Box<Event>),
    /// It has ended.
    Ended {
        /// What it came to: its answer, or why it has none.
        result: Result<String, String>,
        /// How long it took.
        took: Duration,
    },
    /// Its result was given to the model that started it.
    Delivered,
}
