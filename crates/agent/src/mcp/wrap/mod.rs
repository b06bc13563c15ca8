//! `mcp wrap`: a proxy between a host and an MCP server that holds the server to what was pinned:
//! its instructions, tools, prompts and resource templates.
//!
//! A list is collected as a whole and compared with its pin before the host sees any of it, and a
//! call passes only for a name of an accepted list. What the server asks of the host's model or
//! user passes only with the operator's leave. Other messages pass as they are.

mod error_reply;
mod list_kind;
mod list_pages;
mod pinned_list;
mod proxy;
mod server_requests;
#[cfg(test)]
mod tests;

pub use proxy::PinningProxy;
pub use server_requests::AllowedRequests;
