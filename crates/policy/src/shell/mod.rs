//! Shell text: a parser to an AST, and the guard that judges it.
//!
//! The parser accepts only what it understands. It refuses everything else with a reason and a
//! location.

pub mod ast;
mod dialect;
pub mod guard;
mod parser;
mod span;
mod visitor;
pub mod word;

pub use ast::*;
pub use dialect::Dialect;
pub use parser::{MAX_DEPTH, MAX_TEXT_LEN, parse};
pub use span::{NotUnderstood, Span};
pub use visitor::Visitor;
pub use word::*;
