//! A running child.

use crate::launch::linux::child_streams::{ParentStreams, set_size};
use crate::launch::linux::net_counters::NetCounters;
use crate::launch::linux::own_streams::RelayedStreams;
use crate::launch::linux::supervisor_handle::SupervisorHandle;
use crate::launch::output_limit::OutputLimit;
use crate::launch::run::{KERNEL_TIMEOUT, KILL_TIMEOUT};
use crate::launch::spec::LaunchSpec;
use crate::launch::status::{Limit, Status};
use crate::launch::streams::WindowSize;
use picoclaw_sys::linux::{SupervisorCommand, prefer_short_slices};
use rustix::process::Signal;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long after SIGTERM a supervisor is killed itself, and the rest of its tree with it: the two
/// seconds that processes have, and a moment more for a supervisor that is about to end them.
pub(crate) const TERMINATE_TIMEOUT: Duration = Duration::from_millis(2_200);

/// A running child and its pipes. Dropping it kills the child and everything it started.
#[derive(Debug)]
pub struct Running {
    pub(super) supervisor: Arc<SupervisorHandle>,
    pub(in crate::launch) streams: ParentStreams,
    pub(in crate::launch) started: Instant,
    pub(super) deadline: Option<Instant>,
    pub(in crate::launch) output_limit: OutputLimit,
}

impl Running {
    pub(super) fn new(supervisor: Arc<SupervisorHandle>, streams: ParentStreams, spec: &LaunchSpec) -> Self {
        // This thread will wait for the deadline, perhaps among a thousand busy processes.
        prefer_short_slices();
        let started = Instant::now();
        let deadline = spec.deadline.moment(started);
        Self { supervisor, streams, started, deadline, output_limit: spec.output_limit }
    }

    /// When its supervisor ends it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The pid of its supervisor, for display.
    pub fn pid(&self) -> i32 {
        self.supervisor.pid()
    }

    /// The pidfd of its supervisor, for an event loop: readable when the supervisor has exited. The
    /// child's end may be reported earlier.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.supervisor.pidfd()
    }

    /// Readable when the supervisor has reported something, such as an end or a stop. To be asked
    /// for before each wait: when the supervisor has closed its end, this is the pidfd.
    pub fn report_fd(&self) -> BorrowedFd<'_> {
        self.supervisor.report_fd()
    }

    /// The counters of the network namespace that it has in a native cage.
    pub fn take_net_counters(&self) -> NetCounters {
        self.supervisor.take_counters()
    }

    /// The signal by which the command was stopped since the last call. It stays stopped until it
    /// is sent SIGCONT.
    pub fn take_stop(&self) -> Option<Signal> {
        self.supervisor.take_stop()
    }

    /// What stands in for this process's own streams.
    pub fn take_relayed(&mut self) -> RelayedStreams {
        std::mem::take(&mut self.streams.relayed)
    }

    /// Makes the command's process group the foreground group of its terminal.
    pub fn to_foreground(&self) {
        self.supervisor.send(SupervisorCommand::Foreground);
    }

    /// Sets the size of its pseudo-terminal, if it has one.
    pub fn resize(&self, size: WindowSize) -> Result<(), rustix::io::Errno> {
        self.streams.terminal.as_ref().map_or(Ok(()), |terminal| set_size(terminal, size))
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, signal: Signal) {
        self.supervisor.send(SupervisorCommand::Forward(signal));
    }

    /// Asks the whole tree to end: SIGTERM, two seconds, SIGKILL. Returns at once.
    pub fn end(&self) {
        self.supervisor.send(SupervisorCommand::Terminate);
    }

    /// Kills the whole tree. Returns at once.
    pub fn kill(&self) {
        self.supervisor.send(SupervisorCommand::Kill);
    }

    /// The limit of its tree that a child which ended like this has reached.
    pub fn reached_limit(&self, status: Status) -> Option<Limit> {
        self.supervisor.reached_limit(status)
    }

    /// How it ended, if it has.
    pub fn poll(&mut self) -> Option<Status> {
        self.supervisor.status()
    }

    /// Waits for its end, within its deadline. Reads no pipe: for a caller that has taken them.
    pub fn wait(&mut self) -> Status {
        if let Some(status) = self.supervisor.wait_until(self.deadline) {
            return status;
        }
        self.end();
        self.wait_or_kill(TERMINATE_TIMEOUT);
        Status::TimedOut
    }

    /// Kills the supervisor, and the rest of the tree with it, of a tree that was told to end and
    /// has not. Returns at once.
    pub(crate) fn kill_supervisor(&self) {
        self.supervisor.kill_supervisor();
    }

    /// Waits for a tree that was told to end; kills the supervisor when it does not within `time`.
    fn wait_or_kill(&self, time: Duration) {
        if self.supervisor.wait_until(Some(Instant::now() + time)).is_none() {
            self.kill_supervisor();
            self.supervisor.wait_until(Some(Instant::now() + KERNEL_TIMEOUT));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.supervisor.status().is_none() {
            self.kill();
            self.wait_or_kill(KILL_TIMEOUT);
        }
        // A session in the background keeps the handle.
        self.supervisor.release();
    }
}
