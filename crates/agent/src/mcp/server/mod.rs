//! The MCP server: the registry's tools for any MCP host.
//!
//! A client can call what the registry offers, under the server's policy, and nothing else.

mod builtin_tools;
mod decode;
mod elicitation;
mod handler;
pub mod http;
mod pagination;
mod pending_approvals;
mod policy_summary;
mod progress;
mod request_queue;
mod response;
mod roots;
mod state;
mod stdio;
mod tool_list;

pub use state::ServerState;
pub use stdio::{ServeError, Streams, serve};
