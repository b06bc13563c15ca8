//! `picoclaw mcp`: the tools for other people's agents, and other people's servers in a cage.
//!
//! Invariant: a peer is one more porch; it gets no second way in.

mod add;
mod arguments;
mod attempt;
mod described;
mod dispatch;
mod entry;
mod hosts;
mod install;
mod list;
mod recorded;
mod remove;
mod serve;
mod show;
mod trust;
mod wrap;

pub(crate) use arguments::McpCommand;
pub(crate) use dispatch::run;
