//! Chat completions, as OpenAI writes them and everybody else speaks them.
//!
//! Invariant: pure; what a peer sends is read with tolerance, and a call only when it is whole.

mod answer;
mod pieces;
mod request;

pub(super) use request::OpenAi;
