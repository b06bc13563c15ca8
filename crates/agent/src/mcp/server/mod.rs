//! The MCP server: the sandboxed tools for any host.
//!
//! Invariant: a client can ask for what the registry offers, through the desk, and for nothing else.

mod answer;
mod approval;
mod catalogue;
mod charter;
mod cursor;
mod frame;
pub mod http;
mod lines;
mod porch;
mod premises;
mod progress;
mod request_queue;
mod roots;
mod served;
mod skim;
mod stdio;
mod waiting_room;

pub use premises::Premises;
pub use stdio::{ServeError, Streams, serve};
