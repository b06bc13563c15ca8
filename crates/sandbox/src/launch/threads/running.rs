//! A running child.

use super::child_streams::ParentStreams;
use super::no_network::NetCounters;
use crate::launch::output_limit::OutputLimit;
use crate::launch::platform::Child;
use crate::launch::run::KERNEL_TIMEOUT;
use crate::launch::spec::LaunchSpec;
use crate::launch::status::{Limit, Status};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A running child and its pipes. Dropping it kills the child and everything it started.
#[derive(Debug)]
pub struct Running {
    pub(super) child: Arc<Child>,
    pub(in crate::launch) streams: ParentStreams,
    pub(in crate::launch) started: Instant,
    pub(super) deadline: Option<Instant>,
    pub(in crate::launch) output_limit: OutputLimit,
}

impl Running {
    pub(in crate::launch) fn new(child: Child, streams: ParentStreams, spec: &LaunchSpec) -> Self {
        let started = Instant::now();
        let deadline = spec.deadline.moment(started);
        let child = Arc::new(child);
        Self { child, streams, started, deadline, output_limit: spec.output_limit }
    }

    /// Its process id, for display.
    pub fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// The counters of a closed network, which it never has.
    pub fn take_net_counters(&self) -> NetCounters {
        NetCounters
    }

    /// Ends the whole tree. Returns at once.
    pub fn end(&self) {
        self.child.end();
    }

    /// The limit of its tree that a child which ended like this has reached. A job refuses at its
    /// limits and ends nothing; other systems have no limits.
    pub fn reached_limit(&self, _status: Status) -> Option<Limit> {
        None
    }

    /// How it ended, if it has.
    pub fn poll(&mut self) -> Option<Status> {
        self.child.wait(Some(Duration::ZERO))
    }

    /// Waits for its end, within its deadline. Reads no pipe: for a caller that has taken them.
    pub fn wait(&mut self) -> Status {
        let left = self.deadline.map(|until| until.saturating_duration_since(Instant::now()));
        let status = self.child.wait(left);
        self.settle(status)
    }

    /// Waits for its end, for `time` at most and within its deadline. Reads no pipe.
    pub(crate) fn wait_for(&mut self, time: Duration) -> Option<Status> {
        let left = self.deadline.map(|until| until.saturating_duration_since(Instant::now()));
        let status = self.child.wait(Some(left.map_or(time, |left| left.min(time))));
        let is_late = self.deadline.is_some_and(|until| Instant::now() >= until);
        (status.is_some() || is_late).then(|| self.settle(status))
    }

    /// Ends what is left of a child that has ended, or was still running at its deadline.
    fn settle(&self, status: Option<Status>) -> Status {
        if status.is_none() {
            self.child.end();
            self.child.wait(Some(KERNEL_TIMEOUT));
        }
        self.child.kill();
        status.unwrap_or(Status::TimedOut)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill();
        self.child.wait(Some(KERNEL_TIMEOUT));
    }
}

/// There are no supervisors.
pub fn wait_for_supervisors() {}
