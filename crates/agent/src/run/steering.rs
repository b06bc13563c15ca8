//! Messages for a turn that is already running, and the request to interrupt it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Messages that wait.
const MAX_MESSAGES: usize = 10;

/// A queue of messages for a turn, and an interrupt flag.
#[derive(Debug, Default)]
pub struct Steering {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<String>,
    is_interrupted: bool,
}

/// Too many messages are already waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_MESSAGES} messages are already waiting")]
pub struct QueueFull;

impl Steering {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message for the running turn.
    pub fn say(&self, text: impl Into<String>) -> Result<(), QueueFull> {
        let mut state = self.state();
        if state.queue.len() >= MAX_MESSAGES {
            return Err(QueueFull);
        }
        state.queue.push_back(text.into());
        self.changed.notify_one();
        Ok(())
    }

    /// Asks the turn to call no more tools and to answer with a summary.
    pub fn interrupt(&self) {
        self.state().is_interrupted = true;
        self.changed.notify_one();
    }

    /// Takes the oldest message.
    pub fn take(&self) -> Option<String> {
        self.state().queue.pop_front()
    }

    /// Whether a message waits.
    pub fn is_waiting(&self) -> bool {
        !self.state().queue.is_empty()
    }

    /// Waits for a message or an interrupt.
    pub(super) async fn received(&self) {
        while !self.is_waiting() && !self.is_interrupted() {
            self.changed.notified().await;
        }
    }

    /// Takes the interrupt, if there is one.
    pub(super) fn take_interrupt(&self) -> bool {
        std::mem::take(&mut self.state().is_interrupted)
    }

    /// Whether the turn is interrupted.
    pub(super) fn is_interrupted(&self) -> bool {
        self.state().is_interrupted
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
