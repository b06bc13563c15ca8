//! Pins: a server's tools as they were first seen, and nothing else until a person consents.
//!
//! A model reads a tool's description as part of its instructions, so a server that changes one later speaks to the model
//! behind the operator's back. The list is therefore kept as a whole, by hash, under the name of the server; for `mcp wrap`
//! also under its command line.
//!
//! Invariant: a list that differs from its pin in anything but the order of its tools is not the pinned list.

mod board;
mod canonical;
mod difference;
mod list;
mod pin;

pub use board::{PinError, Pins, Standing};
pub use canonical::canonical;
pub use difference::{described, difference};
pub use list::{ListError, MOST_BYTES, MOST_TOOLS, ToolList};
pub use pin::{Pin, PinKey};
