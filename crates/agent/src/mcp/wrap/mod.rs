//! `mcp wrap`: a proxy between a host and an MCP server that holds the server to its pinned tools.
//!
//! Messages pass in both directions as they are, except for tools: a list is collected as a whole
//! and compared with its pin before the host sees any of it, and a call passes only for a tool of
//! an accepted list.

mod error_reply;
mod proxy;
#[cfg(test)]
mod tests;
mod tool_pages;

pub use proxy::PinningProxy;
