//! A deadline and a cancellation for waits.

use crate::launch::CancelToken;
use std::io;
use std::time::{Duration, Instant};

/// How often a wait checks for cancellation where nothing wakes it.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

/// A deadline and a cancellation. No wait outlasts either.
#[derive(Debug, Clone)]
pub struct WaitLimit {
    deadline: Instant,
    cancel: CancelToken,
}

/// Why a wait was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitEnded {
    /// The deadline has passed.
    #[error("timed out")]
    Deadline,
    /// It was cancelled.
    #[error("stopped")]
    Cancelled,
}

/// What a socket is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Readable,
    Writable,
}

impl From<WaitEnded> for io::Error {
    fn from(why: WaitEnded) -> Self {
        // Never `Interrupted`: the standard library retries on that.
        let kind = match why {
            WaitEnded::Deadline => io::ErrorKind::TimedOut,
            WaitEnded::Cancelled => io::ErrorKind::ConnectionAborted,
        };
        Self::new(kind, why)
    }
}

impl WaitLimit {
    /// `time` from now, or until it is cancelled.
    pub fn new(time: Duration, cancel: &CancelToken) -> Self {
        Self { deadline: Instant::now() + time, cancel: cancel.clone() }
    }

    /// The same, and at most `time` from now.
    #[must_use]
    pub fn at_most(&self, time: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + time), cancel: self.cancel.clone() }
    }

    /// The time that is left; an error when there is none.
    pub fn left(&self) -> Result<Duration, WaitEnded> {
        if self.cancel.is_cancelled() {
            return Err(WaitEnded::Cancelled);
        }
        match self.deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(WaitEnded::Deadline),
            left => Ok(left),
        }
    }

    /// Its cancellation.
    #[cfg(target_os = "linux")]
    pub(super) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// How long a wait may take before it checks for cancellation, where nothing wakes it.
    pub(super) fn slice(&self) -> Result<Duration, WaitEnded> {
        Ok(self.left()?.min(CANCEL_INTERVAL))
    }
}
