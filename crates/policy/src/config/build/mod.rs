//! From a checked tree to the types that everybody else reads.
//!
//! What one key alone cannot tell is checked here: names that refer to each other, rules that replace each other.
//!
//! Invariant: every key is read through one view, so its default is the table's.

mod agents;
mod delegation;
mod isolation;
mod legacy;
mod models;
mod tools;
mod view;
mod whole;

pub(crate) use whole::{build, defaults};
