//! Wrap: between a host and somebody else's server, frame by frame.
//!
//! Everything passes as it is, in both directions and at once, but for the tools: a list is collected whole and judged by
//! its pin before the host sees any of it, and a call passes only for a tool of a list that was judged.
//!
//! Invariant: no description, schema or name of a tool reaches the host unless it is the pinned one.

mod frame;
mod gate;
mod listing;
mod reply;
#[cfg(test)]
mod tests;

pub use frame::{Frame, FrameError, Id};
pub use gate::{Gate, MOST_IN_FLIGHT};
