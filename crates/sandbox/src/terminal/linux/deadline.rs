//! The deadline of a child in the foreground.

use crate::launch::{KERNEL_TIMEOUT, Running, Status, TERMINATE_TIMEOUT};
use std::time::{Duration, Instant};

/// How long after its deadline a run may last.
const MAX_DELAY: Duration = Duration::from_secs(3);

/// A deadline, and what was done since it has passed.
pub(super) struct ForegroundDeadline {
    until: Option<Instant>,
    last_output: Option<Instant>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Before,
    Terminated,
    Killed,
}

impl ForegroundDeadline {
    pub(super) fn new(until: Option<Instant>) -> Self {
        let last_output = until.and_then(|until| until.checked_add(MAX_DELAY));
        Self { until, last_output, stage: Stage::Before }
    }

    /// Until when a child's last output is written to a reader that is slow.
    pub(super) fn drain_until(&self) -> Option<Instant> {
        self.last_output
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
        let (stage, time) = match self.stage {
            Stage::Before => {
                running.end();
                (Stage::Terminated, TERMINATE_TIMEOUT)
            }
            Stage::Terminated => {
                running.kill_supervisor();
                (Stage::Killed, KERNEL_TIMEOUT)
            }
            Stage::Killed => return Some(Status::TimedOut),
        };
        (self.stage, self.until) = (stage, Some(Instant::now() + time));
        None
    }

    /// The status of a child that has ended: after its deadline, that it timed out.
    pub(super) fn final_status(&self, status: Status) -> Status {
        if self.stage == Stage::Before { status } else { Status::TimedOut }
    }
}
