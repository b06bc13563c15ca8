//! Documents: JSON with comments as a tree whose nodes know where they were written.

mod explain;
mod node;
mod parse;
mod position;

pub use node::{Entry, Node, Origin, Value};
pub(crate) use parse::{EscapedControl, Source, is_number, parse};
pub(crate) use position::{Lines, without_bom};
