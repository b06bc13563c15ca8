//! Waiting for long: what only the start needed is given back.
//!
//! Invariant: it happens once, and never to a child that ends at once.

use std::time::{Duration, Instant};

/// Commands that end sooner are not worth it.
const LONG: Duration = Duration::from_millis(100);

/// Whoever waits, and may have to wait for long.
pub(super) struct Rest(Option<Instant>);

impl Rest {
    /// From now on.
    pub(super) fn new() -> Self {
        Self(Some(Instant::now() + LONG))
    }

    /// When to look again.
    pub(super) fn until(&self) -> Option<Instant> {
        self.0
    }

    /// Gives back what is not needed for waiting, once it has taken long.
    pub(super) fn check(&mut self) {
        if self.0.is_some_and(|until| Instant::now() >= until) {
            self.0 = None;
            picoclaw_sys::linux::let_go_of_code();
        }
    }
}
