//! Where a turn's answers come from, as far as a turn needs to know.
//!
//! Invariant: a turn asks one mind from its beginning to its end; which models stand behind it is not the turn's affair.

use crate::providers::{Answer, Chain, Models, ProviderError, Request, Retry, Sink};
use picoclaw_policy::AgentId;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Hears of a failure that is not the end: why, and how long it waits.
pub type OnRetry<'a> = &'a (dyn Fn(&str, Duration) + Send + Sync);

/// An answer on its way, with the model that gives it.
pub type Thinking<'a> = Pin<Box<dyn Future<Output = Result<(Answer, String), ProviderError>> + Send + 'a>>;

/// What answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// A model: it understands what it is told about the conversation.
    Model,
    /// No model: a person's words are the call, and a tool's reply is the answer, to the byte.
    Literal,
}

/// Something that answers conversations, with its retries and fallbacks.
pub trait Mind: Send + Sync {
    /// What it is.
    fn nature(&self) -> Nature {
        Nature::Model
    }

    /// The model that is asked first, as traces name it.
    fn model(&self) -> String;

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

/// The embedded provider, which asks no model.
const DIRECT: &str = "direct";

impl Mind for Chain {
    fn model(&self) -> String {
        Chain::model(self)
    }

    fn nature(&self) -> Nature {
        if Chain::model(self) == DIRECT { Nature::Literal } else { Nature::Model }
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        sink: &'a mut dyn Sink,
        on_retry: OnRetry<'a>,
    ) -> Thinking<'a> {
        Box::pin(async move {
            let told = |retry: &Retry| on_retry(&format!("{}: {}", retry.model, retry.why), retry.wait);
            Chain::ask(self, request, sink, &told).await
        })
    }
}

impl Minds for Models {
    fn mind(&self, agent: &AgentId, asked: Option<&str>) -> Result<Box<dyn Mind>, NoMind> {
        match self.chain(agent, asked) {
            Ok(chain) => Ok(Box::new(chain)),
            Err(why) => Err(NoMind(format!("{why}\nhint: {}", why.hint()))),
        }
    }
}
