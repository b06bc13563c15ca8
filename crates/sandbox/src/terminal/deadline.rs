//! The deadline of a child in the foreground.

use crate::launch::{Running, Status};
use std::time::{Duration, Instant};

/// Two seconds from SIGTERM to SIGKILL, and some time for the kernel.
const END_TIMEOUT: Duration = Duration::from_millis(2_600);

/// A deadline, and whether it has passed.
pub(super) struct ForegroundDeadline {
    until: Option<Instant>,
    has_passed: bool,
}

impl ForegroundDeadline {
    /// A deadline `time` from now.
    pub(super) fn new(time: Option<Duration>) -> Self {
        Self { until: time.and_then(|time| Instant::now().checked_add(time)), has_passed: false }
    }

    /// When to check again.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Ends a child at its deadline; a status when the child did not end in time after that.
    pub(super) fn check(&mut self, running: &Running) -> Option<Status> {
        if self.until.is_none_or(|until| Instant::now() < until) {
            return None;
        }
        if self.has_passed {
            return Some(Status::TimedOut);
        }
        running.end();
        self.has_passed = true;
        self.until = Some(Instant::now() + END_TIMEOUT);
        None
    }

    /// The status of a child that has ended: after its deadline, that it timed out.
    pub(super) fn final_status(&self, status: Status) -> Status {
        if self.has_passed { Status::TimedOut } else { status }
    }
}
