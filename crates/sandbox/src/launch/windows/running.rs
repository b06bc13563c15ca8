//! A running child.

use super::child_streams::ParentStreams;
use crate::launch::output_limit::{HeadTail, OutputLimit};
use crate::launch::spec::{Deadline, LaunchSpec};
use crate::launch::status::{Limit, Status};
use picoclaw_sys::windows::Spawned;
use std::os::windows::io::OwnedHandle;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a job that was ended may take until its end is seen.
pub(in crate::launch) const KILL_TIMEOUT: Duration = Duration::from_millis(100);
/// How long the kernel may take to end it.
pub(in crate::launch) const KERNEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The exit code of processes that this program ended: what a shell gives for SIGKILL.
const ENDED: u32 = 137;

/// A child and its job, shared with the threads that wait for it.
#[derive(Debug)]
pub(super) struct Child(Spawned);

impl Child {
    pub(super) fn pid(&self) -> i32 {
        self.0.pid.cast_signed()
    }

    /// How it ended, if it does until then; without a time, whenever it does.
    pub(super) fn wait(&self, time: Option<Duration>) -> Option<Status> {
        match self.0.wait(time) {
            Ok(code) => code.map(|code| Status::Exited(code.cast_signed())),
            // A process that cannot be waited for is not left running.
            Err(_) => {
                self.kill();
                Some(Status::Halted)
            }
        }
    }

    /// Ends every process of the job.
    pub(super) fn kill(&self) {
        // It fails where the job has ended; closing its last handle ends it in any case.
        let _ = self.0.job().terminate(ENDED);
    }
}

/// A running child and its pipes. Dropping it kills the child and everything it started.
#[derive(Debug)]
pub struct Running {
    pub(super) child: Arc<Child>,
    pub(super) streams: ParentStreams,
    pub(in crate::launch) started: Instant,
    pub(super) deadline: Option<Instant>,
    output_limit: OutputLimit,
}

impl Running {
    pub(super) fn new(spawned: Spawned, streams: ParentStreams, spec: &LaunchSpec) -> Self {
        let started = Instant::now();
        let deadline = match spec.deadline {
            Deadline::After(time) => started.checked_add(time),
            Deadline::None => None,
        };
        let child = Arc::new(Child(spawned));
        Self { child, streams, started, deadline, output_limit: spec.output_limit }
    }

    /// Its process id, for display.
    pub fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// The pipe to its standard input; `None` when there is none or it was taken.
    pub fn take_stdin(&mut self) -> Option<OwnedHandle> {
        self.streams.stdin.take()
    }

    /// The pipe from its standard output.
    pub fn take_stdout(&mut self) -> Option<OwnedHandle> {
        self.streams.stdout.take()
    }

    /// The pipe from its standard error.
    pub fn take_stderr(&mut self) -> Option<OwnedHandle> {
        self.streams.stderr.take()
    }

    /// Ends the whole tree. Returns at once.
    pub fn end(&self) {
        self.child.kill();
    }

    /// The limit of its tree that a child which ended like this has reached. A job refuses at its limits and ends nothing.
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
        // The processes that it left.
        self.child.kill();
        status.unwrap_or(Status::TimedOut)
    }

    /// Waits for its end, for `time` at most and within its deadline. Reads no pipe.
    pub(crate) fn wait_for(&mut self, time: Duration) -> Option<Status> {
        let left = self.deadline.map(|until| until.saturating_duration_since(Instant::now()));
        let status = self.child.wait(Some(left.map_or(time, |left| left.min(time))));
        let is_late = self.deadline.is_some_and(|until| Instant::now() >= until);
        let status = status.or(is_late.then_some(Status::TimedOut))?;
        self.child.kill();
        Some(status)
    }

    pub(in crate::launch) fn new_output(&self) -> HeadTail {
        HeadTail::new(self.output_limit)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill();
        self.child.wait(Some(KERNEL_TIMEOUT));
    }
}

/// There are no supervisors: a job ends with its last handle.
pub fn wait_for_supervisors() {}
