//! Turns: from a person's words to an answer, through as many tools as it takes.
//!
//! Invariant: a turn asks; what it asks for happens behind the desk or not at all.

mod asking;
mod calls;
mod conversation;
mod escort;
mod estimate;
mod event;
mod hygiene;
mod lane;
mod offer;
mod plain;
mod prompt;
mod purse;
mod retinue;
mod runner;
mod single;
mod sitting;
mod steering;
mod tidying;
mod turn;

pub use event::{Ask, Event};
pub(crate) use lane::Lane;
pub use prompt::Texts;
pub(crate) use purse::Allowance;
pub use runner::{Runner, RunnerError};
pub use steering::{QueueFull, Steering};
pub use tidying::Tidied;
pub use turn::{Ending, Turn, TurnError};
