//! `/v1`: agents for any client that speaks OpenAI's protocol. Each agent is a model.
//!
//! A request carries its own history and leaves none behind; with `X-Picoclaw-Session: NAME` the gateway keeps the session
//! `http:NAME` instead, and takes only the last message.
//!
//! Invariant: what a client sends is a person's words, never an agent's rules.

mod complete;
mod error;
mod listing;
mod request;
mod wire;

pub(super) use complete::complete;
pub(super) use error::not_found;
pub(super) use listing::{model, models};
