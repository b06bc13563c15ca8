//! `/v1`: the agents for clients of OpenAI's chat protocol. Each agent is a model.
//!
//! A request carries its own history and leaves none behind; with `X-Picoclaw-Session: NAME` the
//! gateway keeps the session `http:NAME` instead and reads only the last message.

mod completions;
mod error;
mod models;
mod request;
mod response;

pub(super) use completions::completions;
pub(super) use error::not_found;
pub(super) use models::{model, models};
