//! Models behind a command line: Claude Code and Codex, as guests of the house.
//!
//! They are programs with tools of their own, so they are caged like every guest; the flags that switch off their own
//! safety are given only where a cage takes its place.
//!
//! Invariant: only a whole reply or its one fenced block is a call; words in prose never are.

mod calls;
mod claude;
mod codex;
mod program;
mod prompt;

pub(super) use claude::Claude;
pub(super) use codex::Codex;
pub(super) use program::{Program, Tongue};
