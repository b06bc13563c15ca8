//! Providers: where answers come from.
//!
//! [`Models`] knows every model of the configuration; a [`FallbackChain`] is the one that is asked for with everything that
//! may stand in for it. [`FallbackChain::ask`] retries, falls back and keeps limits; a [`Provider`] makes one try.
//!
//! Invariant: a provider gets text and gives text; it holds no key to any room.

mod anthropic;
mod candidate;
mod cli;
mod cooldown;
mod direct;
mod fallback;
mod http;
mod model_error;
mod models;
mod openai;
mod protocol;
mod provider;
mod rate;
mod scripted;
mod speakers;
mod spelling;
mod watched;

pub use fallback::{FallbackChain, Retry};
pub use model_error::ModelError;
pub use models::Models;
pub use provider::{
    Again, Answer, Class, Finish, Provider, ProviderError, ProviderKind, Reading, Request, Sink, ToolSpec,
    Usage,
};
