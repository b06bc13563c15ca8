//! The MCP server: the sandboxed tools for any host.
//!
//! Invariant: a client can ask for what the registry offers, through the desk, and for nothing else.

mod answer;
mod approval;
mod catalogue;
mod charter;
mod client;
mod cursor;
mod frame;
pub mod http;
mod lines;
mod outlet;
mod porch;
mod premises;
mod progress;
mod quick;
mod readers;
mod roots;
mod running;
mod served;
mod sheet;
mod skim;
mod spelled;
mod stdio;
mod traffic;
mod waiting_room;

pub use premises::Premises;
pub use stdio::{ServeError, Streams, serve};
