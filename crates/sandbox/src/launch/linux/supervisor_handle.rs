//! The parent's side of a supervisor: commands out, reports in, reaping.
//!
//! Invariant: a supervisor is reaped exactly once, and signalled only before.

use crate::launch::linux::cgroup::{Cgroup, TreeLimits};
use crate::launch::linux::net_counters::NetCounters;
use crate::launch::linux::reap;
use crate::launch::linux::tmp_usage::TmpUsage;
use crate::launch::status::{Limit, Status};
use picoclaw_sys::linux::{KILLER_SIGNAL, Message, Report, Spawned, SupervisorCommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, send};
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a supervisor opens in its cage: the directory of [`TmpUsage`] and the files of
/// [`NetCounters`].
pub(super) const OPENED: [&CStr; 3] = [c"/tmp", c"/proc/self/net/snmp", c"/proc/self/net/snmp6"];
/// The exit code for a confinement that could not be built.
const SETUP_FAILED: i32 = 125;

#[derive(Debug)]
pub(super) struct SupervisorHandle {
    pid: i32,
    has_killer: bool,
    pidfd: Arc<OwnedFd>,
    control: OwnedFd,
    ready_file: Option<OwnedFd>,
    limits: TreeLimits,
    cgroup: Option<Cgroup>,
    /// The most processes and threads that were counted, where no cgroup counts them.
    max_tasks: Arc<AtomicU64>,
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
    /// `None` where the tree has no tmpfs of its own.
    tmp: Option<Arc<TmpUsage>>,
    /// Received and not yet taken.
    counters: [Option<OwnedFd>; 2],
}

impl SupervisorHandle {
    pub(super) fn new(
        spawned: Spawned,
        ready_file: Option<OwnedFd>,
        limits: TreeLimits,
        cgroup: Option<Cgroup>,
        tmp: Option<TmpUsage>,
    ) -> Self {
        let Spawned { pid, has_killer, pidfd, control } = spawned;
        Self {
            pid,
            has_killer,
            pidfd: Arc::new(pidfd),
            control,
            ready_file,
            limits,
            cgroup,
            max_tasks: Arc::default(),
            state: Mutex::new(SupervisorState { tmp: tmp.map(Arc::new), ..SupervisorState::default() }),
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    pub(super) fn shared_pidfd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.pidfd)
    }

    pub(super) fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    pub(super) fn shared_max_tasks(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.max_tasks)
    }

    pub(super) fn shared_tmp(&self) -> Option<Arc<TmpUsage>> {
        self.state().tmp.clone()
    }

    /// Lets go of what keeps the namespaces and the tmpfs of a tree that has ended.
    pub(super) fn release(&self) {
        let mut state = self.state();
        (state.tmp, state.counters) = (None, [None, None]);
    }

    /// The counters of a supervisor's network namespace, once it has reported that the command
    /// runs.
    pub(super) fn take_counters(&self) -> NetCounters {
        let [ipv4, ipv6] = std::mem::take(&mut self.state().counters);
        NetCounters::new(ipv4, ipv6)
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

    /// Waits for the first report, which says whether the command runs; `None` when the supervisor
    /// ended without one.
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

    /// Ends a tree that has reached a limit.
    pub(super) fn end_at_limit(&self, status: Status) {
        self.state().status = Some(status);
        self.kill_supervisor();
    }

    /// The limit of the tree that a command which ended like this has reached.
    pub(super) fn reached_limit(&self, status: Status) -> Option<Limit> {
        let was_refused = || self.cgroup.as_ref().is_some_and(Cgroup::ran_out_of_processes);
        match status {
            Status::OutOfMemory => Some(Limit::Memory(self.limits.memory_bytes >> 20)),
            Status::OutOfProcesses => Some(Limit::Processes(self.limits.processes)),
            Status::Exited(1..) | Status::Signaled(_) if was_refused() => {
                Some(Limit::Processes(self.limits.processes))
            }
            Status::Exited(1..) | Status::Signaled(_) if self.had_most_tasks() => {
                let seen = self.max_tasks.load(Ordering::Relaxed);
                Some(Limit::Tasks { seen, limit: self.limits.processes })
            }
            Status::Exited(1..) | Status::Signaled(_) => {
                let (used, size) = self.shared_tmp()?.was_full()?;
                Some(Limit::Tmp { used: used >> 20, size: size >> 20 })
            }
            _ => None,
        }
    }

    /// Whether nearly as many tasks were counted as there may be. Between two counts there may have
    /// been more.
    fn had_most_tasks(&self) -> bool {
        let (seen, limit) = (self.max_tasks.load(Ordering::Relaxed), self.limits.processes);
        limit > 0 && seen >= limit - limit / 16
    }

    /// The exit code of a builder that never ran the command is about the confinement. The kernel
    /// kills one process at the memory limit, which need not be the command.
    fn command_status(&self, status: Status) -> Status {
        if self.cgroup.as_ref().is_some_and(Cgroup::ran_out_of_memory) {
            return Status::OutOfMemory;
        }
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

    /// Kills a supervisor that does not answer. The kernel or its killer ends its tree with it;
    /// orphans are killed when it is reaped.
    pub(super) fn kill_supervisor(&self) {
        let state = self.state();
        if self.has_killer && !state.is_reaped {
            // A supervisor that has used its share of the processor among a thousand busy processes
            // dies late of a signal; its killer has not used any.
            let group = Pid::from_raw(self.pid);
            let _ = group.map(|group| kill_process_group(group, KILLER_SIGNAL));
        }
        let _ = pidfd_send_signal(&*self.pidfd, Signal::KILL);
    }

    fn receive(&self, state: &mut SupervisorState) {
        while !state.is_closed {
            let report = match Message::receive(&self.control, RecvFlags::DONTWAIT) {
                Ok(None) => {
                    state.is_closed = true;
                    return;
                }
                Ok(Some(Message::Report(report))) => report,
                Ok(Some(Message::Descriptor(opened, at))) => {
                    Self::keep(state, opened, at);
                    continue;
                }
                Err(_) => return,
            };
            state.first = state.first.or(Some(report));
            match report {
                // A memory limit that was reported before explains the signal that ended the
                // command.
                Report::CommandEnded(status) => {
                    state.status = state.status.or(Some(status_from_wait(status)));
                }
                Report::TreeEnded(status) => {
                    state.status = state.status.or(Some(status_from_wait(status)));
                    state.has_tree_ended = true;
                }
                Report::OutOfMemory => state.status = Some(Status::OutOfMemory),
                Report::TimedOut => state.status = state.status.or(Some(Status::TimedOut)),
                Report::Stopped(signal) => state.stopped_by = Signal::from_named_raw(signal),
                _ => {}
            }
        }
    }

    /// Keeps a descriptor of [`OPENED`].
    fn keep(state: &mut SupervisorState, opened: OwnedFd, at: i32) {
        match (at, &state.tmp) {
            (0, Some(tmp)) => tmp.set(opened),
            (1, _) => state.counters[0] = Some(opened),
            (2, _) => state.counters[1] = Some(opened),
            _ => {}
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
                Some(
                    Report::SetupFailed(..)
                        | Report::CommandFailed(..)
                        | Report::ExecFailed(_)
                        | Report::InterpreterMissing
                )
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
pub(super) fn wait_readable(fds: &[BorrowedFd<'_>], until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let time = left.and_then(|left| Timespec::try_from(left).ok());
    let mut wanted: Vec<_> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    poll(&mut wanted, time.as_ref()).is_ok_and(|ready| ready > 0)
}

fn status_from_wait(status: i32) -> Status {
    let status = ExitStatus::from_raw(status);
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signaled(signal.unwrap_or(9)),
    }
}
