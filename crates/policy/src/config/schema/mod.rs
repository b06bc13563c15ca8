//! The table of every key: the one source for checks, defaults, variables, masks and the exported schema.
//!
//! Keys of the original that nobody serves here stand in the table too, as foreign: they load, with a warning.
//!
//! Invariant: a key that is not in the table cannot be read, and one that is cannot be misspelled unnoticed.

mod agents;
mod env_names;
mod gateway;
mod hooks;
mod isolation;
mod key;
mod mcp;
mod models;
mod root;
mod tools;
mod web;

pub(crate) use env_names::{Variable, every_variable, variable};
pub(crate) use key::{Aliases, DefaultValue, Key, KeySupport, Shape};
pub(crate) use root::{NEWEST, ROOT};
pub(crate) use tools::{FOREIGN_TOOLS, SERVED_TOOLS, TOOLS};
