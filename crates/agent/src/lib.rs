//! The agent: untrusted strategy. Every effect that it wants passes the policy and the warden.
//!
//! Tools turn a [`Call`](call::Call) into one intent and hand it to the warden; none of them can
//! open a path or start a process by itself.

pub mod call;
mod child_pipe;
pub mod dry_run;
pub mod executor;
pub mod gateway;
pub mod hooks;
pub mod http_guard;
mod jsonrpc;
mod line_reader;
pub mod mcp;
pub mod message;
pub mod providers;
pub mod question;
pub mod run;
pub mod schedule;
pub mod sessions;
pub mod subagent;
pub mod tokens;
pub mod tools;
