//! The Model Context Protocol: the tools of this program for other agents, and other servers' tools
//! for its own agents.

pub mod client;
pub mod pins;
pub mod server;
pub mod wrap;
