//! Between a person's terminal and a child's: bytes, sizes, signals, suspend and resume.
//!
//! Invariant: the person's terminal is given back as it was found, however this ends.

mod between;
mod converse;
mod leave;
mod limit;
mod lines;
mod outlet;
mod seat;
mod talk;

use crate::launch::{Running, Status, WindowSize};
pub use between::{Between, Said};
pub use converse::{LONGEST_LINE, Voices, converse};
pub use leave::{Then, Told, on_signals, suspend_program};
use limit::Limit;
pub use lines::Line;
use picoclaw_sys::linux::{SignalFd, stop_self, suspend_job};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
use rustix::stdio::{stdin, stdout};
use seat::Seat;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};
use talk::Talk;

/// Signals that are passed on to the child.
const PASSED_ON: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// How often somebody behind looks whether it is in front again: a shell need not say so.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Listens to the signals that concern a child in the foreground. To be called before the child is started, so that
/// none is missed.
pub fn listen() -> io::Result<SignalFd> {
    let mut signals = PASSED_ON.to_vec();
    signals.extend([Signal::WINCH, Signal::TSTP, Signal::CONT]);
    SignalFd::new(&signals)
}

/// Stays with a child on plain descriptors until it ends, passing signals on.
pub fn attend(running: &mut Running, signals: &SignalFd, time: Option<Duration>) -> Status {
    let mut limit = Limit::new(time);
    // Who is stopped watches no time: then only whoever sent us the signal may have us stopped, not the child by itself.
    let (mut is_asked, mut is_stopped) = (false, false);
    loop {
        if let Some(status) = running.poll() {
            return limit.told(status);
        }
        if let Some(status) = limit.check(running) {
            return status;
        }
        is_stopped |= running.take_stop();
        if is_stopped && (is_asked || time.is_none()) {
            (is_asked, is_stopped) = (false, false);
            stop_self();
            running.signal(Signal::CONT);
        }
        let fds = [running.ended_fd(), running.news_fd(), signals.as_fd()];
        wait(&mut fds.map(|fd| watch(fd, PollFlags::IN)), limit.until());
        while let Some(signal) = signals.next() {
            match signal {
                // We follow when it has stopped. Nobody of its session is above it, so the kernel would drop SIGTSTP.
                Signal::TSTP => {
                    is_asked = true;
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

/// Stays with a child on a terminal of its own, relaying everything.
pub fn relay(running: &mut Running, signals: &SignalFd, time: Option<Duration>) -> Status {
    let mut limit = Limit::new(time);
    let mut seat = Seat::take();
    let mut talk = Talk::default();
    // With one of its ends held here, a child that closes its own does not make the other one ready for ever.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let _held = running.terminal().map(|terminal| ioctl_tiocgptpeer(terminal, flags));
    loop {
        let ended = running.poll().map(|status| limit.told(status)).or_else(|| limit.check(running));
        let (Some(terminal), None) = (running.terminal(), ended) else {
            talk.catch_up(running);
            return ended.unwrap_or(Status::TimedOut);
        };
        if running.take_stop() {
            suspend(running, &mut seat, &mut talk);
        }
        let mut watched = vec![
            watch(running.ended_fd(), PollFlags::IN),
            watch(running.news_fd(), PollFlags::IN),
            watch(signals.as_fd(), PollFlags::IN),
            watch(terminal, talk.wanted()),
        ];
        if seat.is_ours() && talk.listens() {
            watched.push(watch(stdin(), PollFlags::IN));
        }
        let look_again = (!seat.is_ours()).then(|| Instant::now() + LOOK_AGAIN);
        wait(&mut watched, [limit.until(), look_again].into_iter().flatten().min());
        if watched.get(4).is_some_and(|fd| !fd.revents().is_empty()) {
            talk.read(running);
        }
        talk.send(terminal);
        talk.show(running);
        seat.settle();
        while let Some(signal) = signals.next() {
            match signal {
                Signal::WINCH => resize(running),
                Signal::CONT => {
                    seat.settle_again();
                    resize(running);
                }
                other => running.signal(other),
            }
        }
    }
}

/// The child has stopped, and we stop with it: its terminal's suspend key is for the whole job. When we are continued,
/// so is the child.
fn suspend(running: &Running, seat: &mut Seat, talk: &mut Talk) {
    talk.catch_up(running);
    seat.leave();
    suspend_job();
    seat.settle();
    resize(running);
    running.signal(Signal::CONT);
}

/// Tells the child's terminal the size of the person's.
fn resize(running: &Running) {
    if let Ok(size) = rustix::termios::tcgetwinsize(stdout()) {
        let _gone = running.resize(WindowSize { rows: size.ws_row, columns: size.ws_col });
    }
}

fn watch(fd: BorrowedFd<'_>, events: PollFlags) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, events)
}

/// Waits for one of `watched`, or until a moment; an interruption is as good as an event.
fn wait(watched: &mut [PollFd<'_>], until: Option<Instant>) {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let _interrupted = poll(watched, left.as_ref());
}
