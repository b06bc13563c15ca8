//! A child in the foreground: signals, deadline, and what stands in for this process's terminals
//! and sockets.

mod deadline;
mod nonblocking;
mod pipe_relay;
mod raw_mode;
mod relays;
mod signals;
mod terminal_relay;

use crate::launch::{Running, Status};
use deadline::ForegroundDeadline;
use picoclaw_sys::linux::{SignalFd, stop_self};
use relays::Relays;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
pub use signals::{on_signals, suspend_program};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Signals that are forwarded to the child.
const FORWARDED: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// Signals that ask for an end.
const ENDING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// How long after such a signal the rest of the output is copied to a terminal or socket that takes
/// none.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a background process checks whether it is in the foreground again: a shell need not
/// send SIGCONT.
const FOREGROUND_CHECK: Duration = Duration::from_millis(200);

/// Opens a descriptor for the signals that concern a child in the foreground. Called before the
/// child is started, so that none is missed.
pub fn listen() -> io::Result<SignalFd> {
    let mut signals = FORWARDED.to_vec();
    signals.extend([Signal::WINCH, Signal::TSTP, Signal::CONT]);
    SignalFd::new(&signals)
}

/// Serves what stands in for this process's streams, forwards signals and waits for the child's
/// end.
pub fn relay(running: &mut Running, signals: &SignalFd) -> Status {
    let mut deadline = ForegroundDeadline::new(running.deadline());
    let has_deadline = deadline.until().is_some();
    let mut relays = Relays::new(running.take_relayed());
    // A stopped process enforces no deadline. With one, this process stops only on SIGTSTP, not
    // when the child stops itself.
    let (mut is_stop_requested, mut is_stopped) = (false, false);
    let mut drain_until = None;
    loop {
        let ended =
            running.poll().map(|status| deadline.final_status(status)).or_else(|| deadline.check(running));
        if let Some(status) = ended {
            relays.drain(signals, drain_until.or(deadline.drain_until()));
            return status;
        }
        match running.take_stop() {
            None => {}
            Some(signal @ (Signal::TTIN | Signal::TTOU)) if relays.is_waiting() => {
                relays.give_terminal(running, signal, has_deadline);
            }
            Some(_) if relays.has_terminal() => relays.suspend(running),
            Some(_) => is_stopped = true,
        }
        if is_stopped && (is_stop_requested || !has_deadline) {
            (is_stop_requested, is_stopped) = (false, false);
            relays.copy_pending();
            stop_self();
            running.signal(Signal::CONT);
        }
        let check_again = relays.waits_for_foreground().then(|| Instant::now() + FOREGROUND_CHECK);
        relays.poll(
            &[running.pidfd(), running.report_fd(), signals.as_fd()],
            [deadline.until(), check_again].into_iter().flatten().min(),
        );
        relays.copy(running);
        while let Some(signal) = signals.next() {
            match signal {
                Signal::WINCH => relays.resize(running),
                // This process stops after the child has.
                Signal::TSTP if !relays.has_terminal() => {
                    is_stop_requested = true;
                    running.signal(Signal::STOP);
                }
                Signal::CONT => {
                    relays.reapply(running);
                    if has_deadline && !relays.has_terminal() {
                        is_stopped = false;
                        running.signal(Signal::CONT);
                    }
                }
                other => {
                    if ENDING.contains(&other) {
                        drain_until = Some(Instant::now() + DRAIN_TIMEOUT);
                    }
                    running.signal(other);
                }
            }
        }
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
