//! Other people's MCP servers, as tools of ours.
//!
//! A server is a guest in its own cage, or an address the operator wrote. Its tools are pinned as they were first seen;
//! they carry the server's name, are judged like every call, and what they answer is text for the model.
//!
//! Invariant: a server that changed what it shows has no tools here until a person consents.

mod bounded;
mod error;
mod fleet;
mod link;
mod naming;
mod results;
mod schema;
mod search;
mod server;
mod tool;
mod variables;

pub use error::McpError;
pub use fleet::{Fleet, Joined, Offered, Trial};
pub use naming::{can_be_of, tool_name};
pub use search::Discovery;
pub use server::READY;
pub use variables::read_env_file;
