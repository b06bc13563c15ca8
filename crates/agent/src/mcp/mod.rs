//! MCP: other people's servers, held to what they showed first.
//!
//! Invariant: whatever a peer says is text to be judged; it widens nothing.

pub mod pins;
pub mod wrap;
