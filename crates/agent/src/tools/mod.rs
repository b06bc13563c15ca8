//! The tools: one a file, each turning arguments into one intent.
//!
//! Invariant: a tool has no power of its own.

mod arguments;
mod schema;

pub use arguments::Arguments;
pub use schema::{Need, Parameter, Type};
