//! A child in the foreground: signals, deadline, and a pseudo-terminal connected to the user's terminal.

mod copy;
mod deadline;
mod raw_mode;
mod signals;

use crate::launch::{Running, Status, WindowSize};
use copy::Copier;
use deadline::ForegroundDeadline;
use picoclaw_sys::linux::{SignalFd, stop_self, suspend_job};
use raw_mode::RawMode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
use rustix::stdio::{stdin, stdout};
pub use signals::{SignalAction, SignalEvent, on_signals, suspend_program};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Signals that are forwarded to the child.
const FORWARDED: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// How often a background process checks whether it is in the foreground again: a shell need not send SIGCONT.
const FOREGROUND_CHECK: Duration = Duration::from_millis(200);

/// Opens a descriptor for the signals that concern a child in the foreground. Called before the child is started, so that
/// none is missed.
pub fn listen() -> io::Result<SignalFd> {
    let mut signals = FORWARDED.to_vec();
    signals.extend([Signal::WINCH, Signal::TSTP, Signal::CONT]);
    SignalFd::new(&signals)
}

/// Waits for the end of a child without a pseudo-terminal, forwarding signals.
pub fn wait(running: &mut Running, signals: &SignalFd, time: Option<Duration>) -> Status {
    let mut deadline = ForegroundDeadline::new(time);
    // A stopped process enforces no deadline. With one, this process stops only on SIGTSTP, not when the child stops itself.
    let (mut is_stop_requested, mut is_stopped) = (false, false);
    loop {
        if let Some(status) = running.poll() {
            return deadline.final_status(status);
        }
        if let Some(status) = deadline.check(running) {
            return status;
        }
        is_stopped |= running.take_stop();
        if is_stopped && (is_stop_requested || time.is_none()) {
            (is_stop_requested, is_stopped) = (false, false);
            stop_self();
            running.signal(Signal::CONT);
        }
        let fds = [running.pidfd(), running.report_fd(), signals.as_fd()];
        poll_until(&mut fds.map(|fd| poll_fd(fd, PollFlags::IN)), deadline.until());
        while let Some(signal) = signals.next() {
            match signal {
                // This process stops after the child has. The child's group is orphaned, so the kernel would drop SIGTSTP.
                Signal::TSTP => {
                    is_stop_requested = true;
                    running.signal(Signal::STOP);
                }
                Signal::CONT if time.is_some() => {
                    is_stopped = false;
                    running.signal(Signal::CONT);
                }
                Signal::WINCH | Signal::CONT => {}
                other => running.signal(other),
            }
        }
    }
}

/// Connects a child on a pseudo-terminal with the user's terminal until it ends.
pub fn relay(running: &mut Running, signals: &SignalFd, time: Option<Duration>) -> Status {
    let mut deadline = ForegroundDeadline::new(time);
    let mut raw_mode = RawMode::new();
    let mut copier = Copier::default();
    // While this process holds the slave side too, the master does not signal a hang-up when the child closes its own.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let _slave = running.terminal().map(|terminal| ioctl_tiocgptpeer(terminal, flags));
    loop {
        let ended =
            running.poll().map(|status| deadline.final_status(status)).or_else(|| deadline.check(running));
        let (Some(terminal), None) = (running.terminal(), ended) else {
            copier.drain_output(running);
            return ended.unwrap_or(Status::TimedOut);
        };
        if running.take_stop() {
            suspend(running, &mut raw_mode, &mut copier);
        }
        let mut fds = vec![
            poll_fd(running.pidfd(), PollFlags::IN),
            poll_fd(running.report_fd(), PollFlags::IN),
            poll_fd(signals.as_fd(), PollFlags::IN),
            poll_fd(terminal, copier.wanted_events()),
        ];
        if raw_mode.is_active() && copier.wants_input() {
            fds.push(poll_fd(stdin(), PollFlags::IN));
        }
        let check_again = (!raw_mode.is_active()).then(|| Instant::now() + FOREGROUND_CHECK);
        poll_until(&mut fds, [deadline.until(), check_again].into_iter().flatten().min());
        if fds.get(4).is_some_and(|fd| !fd.revents().is_empty()) {
            copier.read_input(running);
        }
        copier.write_input(terminal);
        copier.copy_output(running);
        raw_mode.update();
        while let Some(signal) = signals.next() {
            match signal {
                Signal::WINCH => resize(running),
                Signal::CONT => {
                    raw_mode.reapply();
                    resize(running);
                }
                other => running.signal(other),
            }
        }
    }
}

/// The child was stopped by its terminal's suspend key: stops the whole job, and continues the child when it is continued.
fn suspend(running: &Running, raw_mode: &mut RawMode, copier: &mut Copier) {
    copier.drain_output(running);
    raw_mode.restore();
    suspend_job();
    raw_mode.update();
    resize(running);
    running.signal(Signal::CONT);
}

/// Gives the child's terminal the size of the user's.
fn resize(running: &Running) {
    if let Ok(size) = rustix::termios::tcgetwinsize(stdout()) {
        let _gone = running.resize(WindowSize { rows: size.ws_row, columns: size.ws_col });
    }
}

pub(crate) fn poll_fd(fd: BorrowedFd<'_>, events: PollFlags) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, events)
}

/// Waits for one of `fds`, until `until` at most; an interruption counts as an event.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], until: Option<Instant>) {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let _interrupted = poll(fds, left.as_ref());
}
