//! Pins: a server's list of tools as it was first seen, until the operator consents to another one.
//!
//! A model reads a tool's description as part of its instructions, so a server that changes one
//! later instructs the model without the operator's knowledge. The list is pinned as a whole by its
//! hash, under the name of the server; for `mcp wrap` under its command line.

mod diff;
mod pin;
mod store;
mod tool_list;

pub use diff::{describe, diff};
pub use pin::{Pin, PinKey, section_noun, server_id};
pub use store::{PinError, PinStatus, Pins};
pub use tool_list::{ListError, MAX_TOOL_BYTES, MAX_TOOLS, ToolList};
