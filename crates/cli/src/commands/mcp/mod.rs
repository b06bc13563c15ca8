//! `picoclaw mcp`: the tools for other people's agents, and other people's servers in a cage.
//!
//! Invariant: a peer is one more porch; it gets no second way in.

mod arguments;
mod dispatch;
mod hosts;
mod install;
mod serve;
mod trust;
mod wrap;

pub(crate) use arguments::McpCommand;
pub(crate) use dispatch::run;
