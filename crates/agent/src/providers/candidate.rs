//! One model with one key, its rate limit and its cooldown.

use super::cooldown::Cooldown;
use super::provider::{Provider, ProviderError};
use super::rate_limit::RateLimit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A provider with its limits.
pub(super) struct Candidate {
    /// The provider.
    pub(super) provider: Box<dyn Provider>,
    /// Distinguishes it from others of the same name: ` (key 2)`.
    pub(super) suffix: String,
    /// The limit of its entry, shared by all keys.
    pub(super) rate_limit: Arc<RateLimit>,
    cooldown: Mutex<Cooldown>,
}

impl Candidate {
    /// A candidate without failures.
    pub(super) fn new(provider: Box<dyn Provider>, suffix: String, rate_limit: Arc<RateLimit>) -> Self {
        Self { provider, suffix, rate_limit, cooldown: Mutex::default() }
    }

    /// Its name in messages.
    pub(super) fn label(&self) -> String {
        format!("{}{}", self.provider.model(), self.suffix)
    }

    /// How long it still cools down.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.cooldown().rest(Instant::now())
    }

    pub(super) fn failed(&self, why: &ProviderError) {
        self.cooldown().failed(why.class, why.retry_after, Instant::now());
    }

    pub(super) fn answered(&self) {
        self.cooldown().answered();
    }

    fn cooldown(&self) -> MutexGuard<'_, Cooldown> {
        self.cooldown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
