//! One model with one key: what a chain asks in turn.
//!
//! Invariant: its failures and its limit are its own, and are remembered as long as the program runs.

use super::cooldown::Cooldown;
use super::provider::{Provider, ProviderError};
use super::rate::Rate;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A provider with its history.
pub(super) struct Candidate {
    /// What answers.
    pub(super) provider: Box<dyn Provider>,
    /// What tells it from others of the same name: ` (key 2)`.
    pub(super) mark: String,
    /// The limit of its entry, which all its keys share.
    pub(super) rate: Arc<Rate>,
    cooldown: Mutex<Cooldown>,
}

impl Candidate {
    /// One that has not failed yet.
    pub(super) fn new(provider: Box<dyn Provider>, mark: String, rate: Arc<Rate>) -> Self {
        Self { provider, mark, rate, cooldown: Mutex::default() }
    }

    /// The name that messages call it by.
    pub(super) fn label(&self) -> String {
        format!("{}{}", self.provider.model(), self.mark)
    }

    /// How long it still rests.
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
