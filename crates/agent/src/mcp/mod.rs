//! The Model Context Protocol: our tools for other people's agents.
//!
//! Invariant: a peer is one more porch; whatever it sends is untrusted text.

pub mod server;
