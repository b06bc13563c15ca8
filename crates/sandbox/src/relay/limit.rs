//! How long a child in the foreground may take.
//!
//! Invariant: a child that outlives its time is ended, gently first, and its status says so.

use crate::launch::{Running, Status};
use std::time::{Duration, Instant};

/// From SIGTERM to SIGKILL two seconds, and a little for the kernel.
const ENDING: Duration = Duration::from_millis(2_600);

/// A child's time.
pub(super) struct Limit {
    until: Option<Instant>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Ending,
}

impl Limit {
    /// From now on.
    pub(super) fn new(time: Option<Duration>) -> Self {
        Self { until: time.and_then(|time| Instant::now().checked_add(time)), phase: Phase::Running }
    }

    /// When to look again.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Ends a child whose time is over; says so when it did not end for all that.
    pub(super) fn check(&mut self, running: &Running) -> Option<Status> {
        let over = self.until.is_some_and(|until| Instant::now() >= until);
        match (over, self.phase) {
            (false, _) => None,
            (true, Phase::Ending) => Some(Status::TimedOut),
            (true, Phase::Running) => {
                running.end();
                self.phase = Phase::Ending;
                self.until = Some(Instant::now() + ENDING);
                None
            }
        }
    }

    /// The status of a child that has ended: what we did to it says more than how it took that.
    pub(super) fn told(&self, status: Status) -> Status {
        if self.phase == Phase::Ending { Status::TimedOut } else { status }
    }
}
