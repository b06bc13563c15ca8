//! MCP servers of the configuration, as tools.
//!
//! A server is a child process in its own cage or an HTTP address that the operator configured. Its
//! tools are pinned as first seen, carry the server's name, and are judged like every other call.

mod bounded_http;
mod bounded_messages;
mod connection;
mod env_file;
mod error;
mod result_text;
mod schema;
mod server;
mod servers;
mod tool;
mod tool_names;

pub use env_file::read_env_file;
pub use error::McpError;
pub use server::READY_TIMEOUT;
pub use servers::{Connected, McpServers, ServerTest, ToolInfo};
pub use tool_names::{can_be_of, tool_name};
