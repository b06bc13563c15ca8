//! Subagents: who may be started, what they have, where their results go, and how they end.

mod authority;
mod bounds;
mod delivery;
mod endings;
mod play;
