//! How long somebody is willing to wait.
//!
//! Invariant: no wait outlasts the time that is left, and a raised halt ends it.

use crate::launch::CancelToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The longest wait between two looks at a halt that cannot wake us.
const LOOK: Duration = Duration::from_millis(100);

/// The end of somebody's patience: a moment, or a wish to stop.
#[derive(Debug, Clone)]
pub struct Bound {
    until: Instant,
    halt: CancelToken,
}

/// Why a wait was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The time was over.
    #[error("timed out")]
    Deadline,
    /// Somebody asked to stop.
    #[error("stopped")]
    Halted,
}

impl From<Stopped> for io::Error {
    fn from(why: Stopped) -> Self {
        // Never `Interrupted`: the standard library answers that by trying again.
        let kind = match why {
            Stopped::Deadline => io::ErrorKind::TimedOut,
            Stopped::Halted => io::ErrorKind::ConnectionAborted,
        };
        Self::new(kind, why)
    }
}

impl Bound {
    /// From now on for `time`, or until `halt` is raised.
    pub fn new(time: Duration, halt: &CancelToken) -> Self {
        Self { until: Instant::now() + time, halt: halt.clone() }
    }

    /// The same, and not longer than `time` from now.
    #[must_use]
    pub fn at_most(&self, time: Duration) -> Self {
        Self { until: self.until.min(Instant::now() + time), halt: self.halt.clone() }
    }

    /// The time that is left; an error when there is none.
    pub fn left(&self) -> Result<Duration, Stopped> {
        if self.halt.is_cancelled() {
            return Err(Stopped::Halted);
        }
        match self.until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(Stopped::Deadline),
            left => Ok(left),
        }
    }

    /// The time until the next look at the halt is due, where nothing wakes the one who waits.
    pub(super) fn slice(&self) -> Result<Duration, Stopped> {
        Ok(self.left()?.min(LOOK))
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
            // A part of a millisecond counts as a whole one: a wait must not spin at its end.
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
