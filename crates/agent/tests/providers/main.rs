//! Models against peers that behave, misbehave and lie.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a peer that cannot be set up has failed its test, and scripts are written by hand"
)]

mod anthropic;
mod chain;
mod cli;
mod faults;
mod openai;
mod outside;
mod peer;
mod support;
