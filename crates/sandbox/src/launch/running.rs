//! A child that runs.
//!
//! Invariant: dropping a running child ends it and everything it started.

use crate::launch::clip::{Bounds, Clip};
use crate::launch::environment::Variables;
use crate::launch::handle::Handle;
use crate::launch::spec::{Deadline, LaunchSpec};
use crate::launch::status::Status;
use crate::launch::streams::{Ours, WindowSize, set_size};
use picoclaw_sys::linux::{ChildSpec, SupervisorCommand};
use rustix::process::Signal;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long past SIGKILL's time a keeper may take before it is killed itself.
pub(super) const BACKSTOP: Duration = Duration::from_millis(2_600);

/// A child with its pipes, from start to end.
#[derive(Debug)]
pub struct Running {
    pub(super) handle: Arc<Handle>,
    pub(super) ours: Ours,
    pub(super) started: Instant,
    pub(super) deadline: Option<Instant>,
    pub(super) bounds: Bounds,
    kept: Kept,
}

/// What the child was made of. Its keeper has a copy of this process's memory: what neither of them changes is there once, and
/// to give some of it back earlier would have it copied first, page by page.
#[derive(Debug)]
struct Kept {
    script: Arc<ChildSpec>,
    _words: Vec<OsString>,
    _environment: Variables,
}

impl Running {
    pub(super) fn new(handle: Handle, ours: Ours, spec: LaunchSpec, script: Arc<ChildSpec>) -> Self {
        let started = Instant::now();
        let deadline = match spec.deadline {
            Deadline::After(time) => started.checked_add(time),
            Deadline::None => None,
        };
        let kept = Kept { script, _words: spec.argv, _environment: spec.environment };
        Self { handle: Arc::new(handle), ours, started, deadline, bounds: spec.bounds, kept }
    }

    /// What it does, step by step.
    pub(super) fn script(&self) -> &ChildSpec {
        &self.kept.script
    }

    /// The process number of its keeper, for a person to see.
    pub fn pid(&self) -> i32 {
        self.handle.pid()
    }

    /// Becomes readable when the child's keeper is gone; for a caller with an event loop. Its end may be known earlier,
    /// from its news.
    pub fn ended_fd(&self) -> BorrowedFd<'_> {
        self.handle.pidfd()
    }

    /// Becomes readable when there is something new about the child, such as its end or a stop. To be asked for anew each
    /// time: when there will be no more news, it is another.
    pub fn news_fd(&self) -> BorrowedFd<'_> {
        self.handle.news()
    }

    /// Whether the command was stopped since the last time that this was asked. It stays so until it is sent SIGCONT.
    pub fn take_stop(&self) -> bool {
        self.handle.take_stop()
    }

    /// The pipe to its input, non-blocking; `None` when there is none or it was taken.
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.ours.stdin.take()
    }

    /// The pipe from its output, non-blocking.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.ours.stdout.take()
    }

    /// The pipe from its second output, non-blocking.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.ours.stderr.take()
    }

    /// Our side of its terminal, non-blocking.
    pub fn terminal(&self) -> Option<BorrowedFd<'_>> {
        self.ours.terminal.as_ref().map(AsFd::as_fd)
    }

    /// Tells its terminal a new size; a child without one does not care.
    pub fn resize(&self, size: WindowSize) -> Result<(), rustix::io::Errno> {
        self.ours.terminal.as_ref().map_or(Ok(()), |terminal| set_size(terminal, size))
    }

    /// Hands a signal to the command's process group.
    pub fn signal(&self, signal: Signal) {
        self.handle.order(SupervisorCommand::Forward(signal));
    }

    /// Asks the whole tree to end: SIGTERM, two seconds, SIGKILL. Returns at once.
    pub fn end(&self) {
        self.handle.order(SupervisorCommand::Terminate);
    }

    /// Kills the whole tree. Returns at once.
    pub fn kill(&self) {
        self.handle.order(SupervisorCommand::Kill);
    }

    /// How it ended, if it has.
    pub fn poll(&mut self) -> Option<Status> {
        self.handle.ended()
    }

    /// Lets go of a child that has ended, for a program that ends too when it has done its `last`. Its keeper is waited for at
    /// the very end ([`super::wait_for_keepers`]): not everybody is the child of a system that does so.
    pub fn leave(self, last: impl FnOnce()) {
        let ended = self.handle.ended().is_some();
        self.handle.dismiss();
        last();
        if ended {
            self.handle.see_off_last();
            // All that is left goes with this process.
            std::mem::forget(self);
        }
    }

    /// Waits for its end, within its deadline; reads no pipe, so only for a caller that has taken them.
    pub fn wait(&mut self) -> Status {
        if let Some(status) = self.handle.wait_until(self.deadline) {
            return status;
        }
        self.end();
        self.wait_or_kill(BACKSTOP);
        Status::TimedOut
    }

    /// Waits for a tree that was told to end; a keeper that does not answer is killed.
    pub(super) fn wait_or_kill(&self, time: Duration) {
        if self.handle.wait_until(Some(Instant::now() + time)).is_none() {
            self.handle.kill_keeper();
        }
    }

    pub(super) fn clip(&self) -> Clip {
        Clip::new(self.bounds)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.handle.ended().is_none() {
            self.kill();
            self.wait_or_kill(Duration::from_secs(1));
        }
    }
}
