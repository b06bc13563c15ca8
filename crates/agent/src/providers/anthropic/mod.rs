//! Messages, as Anthropic writes them.
//!
//! Invariant: pure; every `tool_use` that goes out has its input, also when it comes from a session on disk.

mod answer;
mod pieces;
mod request;

pub(super) use request::Anthropic;
