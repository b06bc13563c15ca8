//! The guard's reader: shell text in, a tree of what it would run out.
//!
//! Invariant: whatever is accepted is understood; everything else is refused by name and place.

pub mod ast;
mod dialect;
pub mod guard;
mod parser;
mod span;
mod visitor;
pub mod word;

pub use ast::*;
pub use dialect::Dialect;
pub use parser::{DEEPEST, LONGEST, read};
pub use span::{NotUnderstood, Span};
pub use visitor::Visitor;
pub use word::*;
