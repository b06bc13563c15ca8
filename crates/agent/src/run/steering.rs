//! Words for a turn that is already running.
//!
//! Invariant: what was taken in is given to the model once, in the order in which it was said.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// How many messages wait at most.
const MOST: usize = 10;

/// A queue of messages for the turn, and the wish that it comes to an end.
#[derive(Debug, Default)]
pub struct Steering {
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<String>,
    is_interrupted: bool,
}

/// There are too many messages already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{MOST} messages wait already")]
pub struct QueueFull;

impl Steering {
    /// Nothing to say yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says something to the running turn.
    pub fn say(&self, text: impl Into<String>) -> Result<(), QueueFull> {
        let mut state = self.state();
        if state.queue.len() >= MOST {
            return Err(QueueFull);
        }
        state.queue.push_back(text.into());
        self.bell.notify_one();
        Ok(())
    }

    /// Asks the turn to call no more tools and to sum up.
    pub fn interrupt(&self) {
        self.state().is_interrupted = true;
        self.bell.notify_one();
    }

    /// Takes the oldest message that waits.
    pub fn take(&self) -> Option<String> {
        self.state().queue.pop_front()
    }

    /// Whether a message waits.
    pub fn is_waiting(&self) -> bool {
        !self.state().queue.is_empty()
    }

    /// Waits until somebody says something, or asks for an end.
    pub(super) async fn spoken(&self) {
        while !self.is_waiting() && !self.is_interrupted() {
            self.bell.notified().await;
        }
    }

    /// Whether the turn was asked to come to an end; asking is over when it was heard.
    pub(super) fn take_interrupt(&self) -> bool {
        std::mem::take(&mut self.state().is_interrupted)
    }

    /// Whether the turn was asked to come to an end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.state().is_interrupted
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
