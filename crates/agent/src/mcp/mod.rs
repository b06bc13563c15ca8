//! The Model Context Protocol, both ways: our tools for other people's agents, their servers held to what they showed first.
//!
//! Invariant: whatever a peer says is text to be judged; it widens nothing.

pub mod client;
pub mod pins;
pub mod server;
pub mod wrap;
