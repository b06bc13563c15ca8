//! A deadline and a cancellation for waits.

use crate::launch::CancelToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How often a wait checks for cancellation where nothing wakes it.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

/// A deadline and a cancellation. No wait outlasts either.
#[derive(Debug, Clone)]
pub struct WaitLimit {
    deadline: Instant,
    halt: CancelToken,
}

/// Why a wait was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitEnded {
    /// The deadline has passed.
    #[error("timed out")]
    Deadline,
    /// It was cancelled.
    #[error("stopped")]
    Halted,
}

impl From<WaitEnded> for io::Error {
    fn from(why: WaitEnded) -> Self {
        // Never `Interrupted`: the standard library retries on that.
        let kind = match why {
            WaitEnded::Deadline => io::ErrorKind::TimedOut,
            WaitEnded::Halted => io::ErrorKind::ConnectionAborted,
        };
        Self::new(kind, why)
    }
}

impl WaitLimit {
    /// `time` from now, or until `halt` is raised.
    pub fn new(time: Duration, halt: &CancelToken) -> Self {
        Self { deadline: Instant::now() + time, halt: halt.clone() }
    }

    /// The same, and at most `time` from now.
    #[must_use]
    pub fn at_most(&self, time: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + time), halt: self.halt.clone() }
    }

    /// The time that is left; an error when there is none.
    pub fn left(&self) -> Result<Duration, WaitEnded> {
        if self.halt.is_cancelled() {
            return Err(WaitEnded::Halted);
        }
        match self.deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(WaitEnded::Deadline),
            left => Ok(left),
        }
    }

    /// How long a wait may take before it checks for cancellation, where nothing wakes it.
    pub(super) fn slice(&self) -> Result<Duration, WaitEnded> {
        Ok(self.left()?.min(CANCEL_INTERVAL))
    }

    /// Waits until `fd` is ready for `events`.
    pub(super) fn wait(&self, fd: impl AsFd, events: PollFlags) -> io::Result<()> {
        loop {
            let time = match self.halt.event_fd() {
                Some(_) => self.left()?,
                None => self.slice()?,
            };
            let mut fds = vec![PollFd::new(&fd, events)];
            fds.extend(self.halt.event_fd().map(|event| PollFd::from_borrowed_fd(event, PollFlags::IN)));
            // Rounded up to a millisecond: a wait must not spin at its end.
            let time = Timespec::try_from(time.max(Duration::from_millis(1))).map_err(io::Error::other)?;
            match poll(&mut fds, Some(&time)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
            let is_ready = fds.first().is_some_and(|fd| !fd.revents().is_empty());
            self.left()?;
            if is_ready {
                return Ok(());
            }
        }
    }
}
