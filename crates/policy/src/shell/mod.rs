//! The guard's reader: shell text in, a tree of what it would run out.
//!
//! Invariant: whatever is accepted is understood; everything else is refused by name and place.

mod dialect;
pub mod guard;
mod reader;
mod span;
pub mod tree;
mod visit;
pub mod word;

pub use dialect::Dialect;
pub use reader::{DEEPEST, LONGEST, read};
pub use span::{NotUnderstood, Span};
pub use tree::*;
pub use visit::Visitor;
pub use word::*;
