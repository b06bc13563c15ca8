//! Process hooks: programs of the operator's that watch turns, and may narrow what happens in them.
//!
//! One JSON-RPC 2.0 object a line on the child's standard streams. A hook that judges calls (`before_tool`,
//! `approve_tool`) and does not answer, answers garbage or is gone, has said no. Each runs as a guest in a user
//! environment of its own, in a directory where no agent can write.
//!
//! Invariant: a hook can say no, change a call that is then judged like any other, or stay silent; it never widens.

mod advice;
mod call_hooks;
mod error;
mod events;
mod frames;
mod link;
mod moments;
mod process;
mod set;
mod turn_hooks;

pub use advice::{Advice, LlmAdvice, Meta, Said};
pub use call_hooks::CallHooks;
pub use error::HookError;
pub use events::{HookEvent, knows_kind};
pub use set::Hooks;
pub use turn_hooks::HookAbort;
pub(crate) use turn_hooks::{HookOutcome, TurnHooks};
