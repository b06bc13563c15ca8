//! The parent's side of a supervisor: commands out, reports in, reaping.
//!
//! Invariant: a supervisor is reaped exactly once, and only its pidfd is ever signalled.

use crate::launch::reap;
use crate::launch::status::Status;
use picoclaw_sys::linux::{Report, Spawned, SupervisorCommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Signal, pidfd_send_signal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The exit code for a confinement that could not be built.
const SETUP_FAILED: i32 = 125;

#[derive(Debug)]
pub(super) struct SupervisorHandle {
    pid: i32,
    pidfd: Arc<OwnedFd>,
    control: OwnedFd,
    ready_file: Option<OwnedFd>,
    state: Mutex<SupervisorState>,
}

/// What is known from reports.
#[derive(Debug, Default)]
struct SupervisorState {
    first: Option<Report>,
    status: Option<Status>,
    /// Every process of the tree has ended; the supervisor is about to exit.
    has_tree_ended: bool,
    is_reaped: bool,
    /// The supervisor has closed its end of the socket.
    is_closed: bool,
    stopped_by: Option<Signal>,
}

impl SupervisorHandle {
    pub(super) fn new(spawned: Spawned, ready_file: Option<OwnedFd>) -> Self {
        let Spawned { pid, pidfd, control } = spawned;
        Self { pid, pidfd: Arc::new(pidfd), control, ready_file, state: Mutex::default() }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// The control socket, or the pidfd when there will be no more reports.
    pub(super) fn report_fd(&self) -> BorrowedFd<'_> {
        if self.state().is_closed { self.pidfd() } else { self.control.as_fd() }
    }

    fn state(&self) -> MutexGuard<'_, SupervisorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, command: SupervisorCommand) {
        // A supervisor that is gone needs no commands.
        let _ = send(&self.control, &command.encode(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Waits for the first report, which says whether the command runs; `None` when the supervisor ended without one.
    pub(super) fn first_report(&self) -> Option<Report> {
        loop {
            let mut state = self.state();
            self.receive(&mut state);
            if state.first.is_some() || state.is_reaped {
                return state.first;
            }
            drop(state);
            wait_readable(&[self.report_fd()], None);
            self.status();
        }
    }

    /// How the command ended, once its whole tree has.
    pub(super) fn status(&self) -> Option<Status> {
        let mut state = self.state();
        self.receive(&mut state);
        let is_running = !state.has_tree_ended && !state.is_reaped;
        if is_running && wait_readable(&[self.pidfd()], Some(Instant::now())) {
            self.receive(&mut state);
            self.reap(&mut state);
        }
        let has_ended = state.has_tree_ended || state.is_reaped;
        state.status.filter(|_| has_ended).map(|status| self.command_status(status))
    }

    /// The exit code of a builder that never ran the command is about the confinement.
    fn command_status(&self, status: Status) -> Status {
        let is_empty = |file: &OwnedFd| rustix::fs::fstat(file).is_ok_and(|stat| stat.st_size == 0);
        match status {
            Status::Exited(_) if self.ready_file.as_ref().is_some_and(is_empty) => {
                Status::Exited(SETUP_FAILED)
            }
            other => other,
        }
    }

    /// The signal by which the command was stopped since the last call.
    pub(super) fn take_stop(&self) -> Option<Signal> {
        let mut state = self.state();
        self.receive(&mut state);
        state.stopped_by.take()
    }

    /// Waits for the end of the tree, until `until` at most.
    pub(super) fn wait_until(&self, until: Option<Instant>) -> Option<Status> {
        loop {
            if let Some(status) = self.status() {
                return Some(status);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            wait_readable(&[self.pidfd(), self.report_fd()], until);
        }
    }

    /// Kills a supervisor that does not answer; its orphans are killed when it is reaped.
    pub(super) fn kill_supervisor(&self) {
        let _ = pidfd_send_signal(&*self.pidfd, Signal::KILL);
        self.wait_until(Some(Instant::now() + Duration::from_secs(1)));
    }

    fn receive(&self, state: &mut SupervisorState) {
        let mut bytes = [0u8; 16];
        while !state.is_closed {
            let report = match recv(&self.control, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    state.is_closed = true;
                    return;
                }
                Ok((length, _)) => bytes.get(..length).and_then(Report::decode),
                Err(_) => return,
            };
            state.first = state.first.or(report);
            match report {
                // A memory limit that was reported before explains the signal that ended the command.
                Some(Report::CommandEnded(status)) => {
                    state.status = state.status.or(Some(Status::from_wait(status)));
                }
                Some(Report::TreeEnded(status)) => {
                    state.status = state.status.or(Some(Status::from_wait(status)));
                    state.has_tree_ended = true;
                }
                Some(Report::OutOfMemory) => state.status = Some(Status::OutOfMemory),
                Some(Report::Stopped(signal)) => state.stopped_by = Signal::from_named_raw(signal),
                _ => {}
            }
        }
    }

    fn reap(&self, state: &mut SupervisorState) {
        reap::unregister(self.pid);
        reap::reap(&self.pidfd);
        state.is_reaped = true;
        if state.status.is_none() {
            // The supervisor itself was killed, and its tree has become ours.
            state.status = Some(Status::Signaled(Signal::KILL.as_raw()));
            let never_ran = matches!(
                state.first,
                Some(Report::SetupFailed(..) | Report::CommandFailed(..) | Report::ExecFailed(_))
            );
            if !never_ran {
                reap::kill_orphans();
            }
        }
    }
}

impl Drop for SupervisorHandle {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !state.is_reaped {
            reap::unregister(self.pid);
            reap::reap_in_background(&self.pidfd);
        }
    }
}

/// Waits until one of `fds` is readable, until `until` at most; whether one is.
fn wait_readable(fds: &[BorrowedFd<'_>], until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let time = left.and_then(|left| Timespec::try_from(left).ok());
    let mut wanted: Vec<_> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    poll(&mut wanted, time.as_ref()).is_ok_and(|ready| ready > 0)
}
