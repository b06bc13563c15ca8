//! Subagents: turns that a turn starts.
//!
//! A subagent is one more porch: its calls walk through the same hall, under a subject that remembers everybody above
//! it. What it has is the intersection of what they have; its slot, its tokens and its time are taken from theirs.
//!
//! Invariant: a subagent never outlives the turn that started it, and its words go to that turn alone.

mod brood;
mod child;
mod kin;
mod news;
mod present;
mod register;
mod slots;
mod tools;
mod wording;

pub(crate) use brood::Brought;
pub(crate) use kin::{Arrival, Attending, Kin};
pub use news::{Subturn, Turning, Who};
pub(crate) use present::{Above, Present};
