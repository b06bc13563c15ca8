//! Turns: from a person's words to an answer, through as many tools as it takes.
//!
//! Invariant: a turn asks; what it asks for happens behind the desk or not at all.

mod event;

pub use event::{Ask, Event};
