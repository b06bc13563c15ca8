//! Providers: the models that answer.
//!
//! [`Models`] has every model of the configuration. A [`FallbackChain`] is the requested one with
//! its stand-ins; it retries, falls back and keeps limits. A [`Provider`] makes one request.

mod anthropic;
mod build;
mod candidate;
mod cli;
mod cooldown;
mod direct;
mod explain;
mod fallback;
mod http;
mod local_servers;
mod model_error;
mod models;
mod openai;
mod protocol;
mod provider;
mod rate_limit;
mod sanitize;
mod scripted;

pub use explain::brief;
pub use fallback::{FallbackChain, Retry};
pub use local_servers::{LocalServer, local_servers};
pub use model_error::ModelError;
pub use models::Models;
pub use provider::{
    Answer, AnswerFuture, ErrorClass, Finish, Provider, ProviderError, ProviderKind, Request, Retryable,
    Sink, ToolSpec, Usage,
};
