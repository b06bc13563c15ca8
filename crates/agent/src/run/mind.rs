//! Where a turn's answers come from, as far as a turn needs to know.
//!
//! Invariant: a turn asks one mind from its beginning to its end; which models stand behind it is not the turn's affair.

use crate::providers::{Answer, ProviderError, Request, Sink};
use picoclaw_policy::AgentId;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Hears of a failure that is not the end: why, and how long it waits.
pub type OnRetry<'a> = &'a (dyn Fn(&str, Duration) + Send + Sync);

/// An answer on its way, with the model that gives it.
pub type Thinking<'a> = Pin<Box<dyn Future<Output = Result<(Answer, String), ProviderError>> + Send + 'a>>;

/// Something that answers conversations, with its retries and fallbacks.
pub trait Mind: Send + Sync {
    /// Asks for the next message. Dropping the future gives the request up.
    fn ask<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, on_retry: OnRetry<'a>)
    -> Thinking<'a>;
}

/// Every mind there is.
pub trait Minds: Send + Sync {
    /// The one that `agent` asks, or the one that was asked for by name.
    fn mind(&self, agent: &AgentId, asked: Option<&str>) -> Result<Box<dyn Mind>, NoMind>;
}

/// There is no such model, or it cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoMind(pub String);
