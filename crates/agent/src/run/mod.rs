//! Turns: from a person's words to an answer, through as many tools as it takes.
//!
//! Invariant: a turn asks; what it asks for happens behind the desk or not at all.

mod event;
mod mind;
mod runner;
mod steering;
mod turn;

pub use event::{Ask, Event};
pub use mind::{Mind, Minds, NoMind, OnRetry, Thinking};
pub use runner::Runner;
pub use steering::{QueueFull, Steering};
pub use turn::{Ending, Turn, TurnError};
