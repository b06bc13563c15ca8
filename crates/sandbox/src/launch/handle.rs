//! The hold on a keeper: identity, orders out, reports in.
//!
//! Invariant: a keeper is reaped exactly once, and nobody else's process is ever signalled through its number.

use crate::launch::status::Status;
use crate::launch::{burial, live};
use picoclaw_sys::linux::{Report, Spawned, SupervisorCommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Signal, pidfd_send_signal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Exit code: the cage itself could not be built.
const NO_WALLS: i32 = 125;

#[derive(Debug)]
pub(super) struct Handle {
    pid: i32,
    pidfd: Arc<OwnedFd>,
    control: OwnedFd,
    /// Where somebody else's builder has said that its walls stand.
    stage: Option<OwnedFd>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    first: Option<Report>,
    ended: Option<Status>,
    /// Nobody is left below the keeper, which is on its way out.
    left: bool,
    /// The keeper itself was waited for.
    gone: bool,
    /// The keeper has closed its end: there will be no news.
    silent: bool,
    stopped: bool,
}

impl Handle {
    pub(super) fn new(spawned: Spawned, stage: Option<OwnedFd>) -> Self {
        let Spawned { pid, pidfd, control } = spawned;
        let known = Mutex::new(Known::default());
        Self { pid, pidfd: Arc::new(pidfd), control, stage, known }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Where news comes from: the keeper's reports, and when there will be no more of them, its end.
    pub(super) fn news(&self) -> BorrowedFd<'_> {
        if self.known().silent { self.pidfd() } else { self.control.as_fd() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn order(&self, order: SupervisorCommand) {
        // A keeper that is gone needs no orders.
        let _ = send(&self.control, &order.encode(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Waits for the first report, which says whether the command runs; `None` when its keeper is gone without one.
    pub(super) fn first_report(&self) -> Option<Report> {
        loop {
            let mut known = self.known();
            self.take_reports(&mut known);
            if known.first.is_some() || known.gone {
                return known.first;
            }
            drop(known);
            is_readable(self.news(), Duration::from_secs(60));
            if is_readable(self.pidfd(), Duration::ZERO) {
                self.ended();
            }
        }
    }

    /// How the command ended, once that is known and nobody is left of its tree.
    pub(super) fn ended(&self) -> Option<Status> {
        let mut known = self.known();
        self.take_reports(&mut known);
        if !known.left && !known.gone && is_readable(self.pidfd(), Duration::ZERO) {
            self.take_reports(&mut known);
            self.reap(&mut known);
        }
        if known.left || known.gone { known.ended.map(|status| self.of_command(status)) } else { None }
    }

    /// The status of a builder that never came to its command is about the walls, not about the command.
    fn of_command(&self, status: Status) -> Status {
        let unbuilt = |stage: &OwnedFd| rustix::fs::fstat(stage).is_ok_and(|stat| stat.st_size == 0);
        match status {
            Status::Exited(_) if self.stage.as_ref().is_some_and(unbuilt) => Status::Exited(NO_WALLS),
            other => other,
        }
    }

    /// Whether the command was stopped since the last time that this was asked.
    pub(super) fn take_stop(&self) -> bool {
        let mut known = self.known();
        self.take_reports(&mut known);
        std::mem::take(&mut known.stopped)
    }

    /// Waits for that, until `until` at most.
    pub(super) fn wait_until(&self, until: Option<Instant>) -> Option<Status> {
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            wait_for(&[self.pidfd(), self.news()], PollFlags::IN, until);
        }
    }

    /// Tells a keeper that has told the end that it may go.
    pub(super) fn dismiss(&self) {
        let _gone = rustix::net::shutdown(&self.control, rustix::net::Shutdown::Both);
    }

    /// Leaves a keeper on its way out to the end of this program.
    pub(super) fn see_off_last(&self) {
        if !self.known().gone {
            burial::bury_last(&self.pidfd);
        }
    }

    /// For a keeper that does not answer: kills it, and sweeps up what it can no longer keep.
    pub(super) fn kill_keeper(&self) {
        let _ = pidfd_send_signal(&*self.pidfd, Signal::KILL);
        self.wait_until(Some(Instant::now() + Duration::from_secs(1)));
    }

    fn take_reports(&self, known: &mut Known) {
        let mut bytes = [0u8; 16];
        while !known.silent {
            let report = match recv(&self.control, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    known.silent = true;
                    return;
                }
                Ok((length, _)) => bytes.get(..length).and_then(Report::decode),
                Err(_) => return,
            };
            known.first = known.first.or(report);
            match report {
                // What we did to a command says more than the signal it died of.
                Some(Report::CommandEnded(status)) => {
                    known.ended = known.ended.or(Some(Status::from_wait(status)))
                }
                Some(Report::TreeEnded(status)) => {
                    known.ended = known.ended.or(Some(Status::from_wait(status)));
                    known.left = true;
                }
                Some(Report::OutOfMemory) => known.ended = Some(Status::OutOfMemory),
                Some(Report::Stopped) => known.stopped = true,
                _ => {}
            }
        }
    }

    fn reap(&self, known: &mut Known) {
        live::forget(self.pid);
        burial::bury(&self.pidfd);
        known.gone = true;
        if known.ended.is_none() {
            // Somebody killed the keeper itself. Its tree has come to us, if anybody adopts it.
            known.ended = Some(Status::Signaled(Signal::KILL.as_raw()));
            let never_ran = matches!(
                known.first,
                Some(Report::SetupFailed(..) | Report::CommandFailed(..) | Report::ExecFailed(_))
            );
            if !never_ran {
                live::sweep();
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !known.gone {
            // On its way out, while the kernel takes its namespaces apart: nobody has to wait for that.
            live::forget(self.pid);
            burial::bury_later(&self.pidfd);
        }
    }
}

/// Whether `fd` can be read within `time`.
pub(super) fn is_readable(fd: BorrowedFd<'_>, time: Duration) -> bool {
    wait_for(&[fd], PollFlags::IN, Instant::now().checked_add(time))
}

/// Waits until one of `fds` is ready, or the time has come; whether one is.
pub(super) fn wait_for(fds: &[BorrowedFd<'_>], events: PollFlags, until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let time = left.and_then(|left| Timespec::try_from(left).ok());
    let mut wanted: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, events)).collect();
    poll(&mut wanted, time.as_ref()).is_ok_and(|ready| ready > 0)
}
