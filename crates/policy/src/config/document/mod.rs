//! Documents: JSON with comments, read into a tree that remembers where everything stood.
//!
//! The reader is our own, and small: it knows the key at which a text goes wrong, goes on after a bad escape so that
//! one run names them all, and has no looser dialect to switch off. Tests hold it against two others.
//!
//! Invariant: reading never panics and never nests deeper than it may, whatever the text.

mod node;
mod position;
mod reader;
mod scalar;
mod text;

pub use node::{Entry, Node, Origin, Value};
pub(crate) use position::{Lines, without_bom};
pub(crate) use reader::{Control, Source, read};
pub(crate) use scalar::is_number;
