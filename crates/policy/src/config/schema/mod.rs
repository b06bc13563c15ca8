//! The schema: the one table of keys for checks, defaults, variables, masks and the JSON Schema.
//!
//! Keys of the original that are not supported here are in the table too: they load with a warning.

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

pub(crate) use env_names::{Variable, all_variables, find_variable};
pub(crate) use key::{Aliases, DefaultValue, Key, KeySupport, Shape};
pub(crate) use root::{NEWEST_VERSION, ROOT};
pub(crate) use tools::{FOREIGN_TOOLS, SERVED_TOOLS, TOOLS};
