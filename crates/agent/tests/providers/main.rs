//! Models against peers that behave, misbehave and lie.

#![expect(clippy::panic, reason = "a test that cannot load its text has failed")]

mod chain;
mod support;
