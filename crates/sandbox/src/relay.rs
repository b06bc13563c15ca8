//! Between a person's terminal and a child's: bytes, sizes, signals, suspend and resume.
//!
//! Invariant: the person's terminal is given back as it was found, however this ends.

mod raw_mode;
mod suspend;

use crate::launch::{Running, Status, WindowSize};
use picoclaw_sys::linux::Signals;
use raw_mode::RawMode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Signals that are passed on to the child.
const PASSED_ON: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGUSR1: i32 = 10;
const SIGUSR2: i32 = 12;
const SIGTERM: i32 = 15;
const SIGCONT: i32 = 18;
const SIGTSTP: i32 = 20;
const SIGWINCH: i32 = 28;

/// Listens to the signals that concern a child in the foreground. To be called before the child is started, so that
/// none is missed.
pub fn listen() -> io::Result<Signals> {
    let mut signals = PASSED_ON.to_vec();
    signals.extend([SIGWINCH, SIGTSTP, SIGCONT]);
    Signals::listen(&signals)
}

/// The size of the person's terminal.
pub fn window_size() -> WindowSize {
    rustix::termios::tcgetwinsize(rustix::stdio::stdout())
        .map_or_else(|_| WindowSize::default(), |size| WindowSize { rows: size.ws_row, columns: size.ws_col })
}

/// Stays with a child on plain descriptors until it ends, passing signals on.
pub fn attend(running: &mut Running, signals: &Signals, deadline: Option<Duration>) -> Status {
    let until = deadline.and_then(|time| Instant::now().checked_add(time));
    loop {
        if let Some(status) = running.poll() {
            return status;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return timed_out(running);
        }
        let mut watched = [readable(running.ended_fd()), readable(signals.as_fd())];
        wait(&mut watched, until);
        while let Some(signal) = signals.next() {
            match signal {
                SIGTSTP => suspend::whole(running, || (), || ()),
                SIGWINCH | SIGCONT => {}
                other => running.signal(other),
            }
        }
    }
}

/// Stays with a child on a terminal of its own, relaying everything.
pub fn relay(running: &mut Running, signals: &Signals, deadline: Option<Duration>) -> io::Result<Status> {
    let raw = RawMode::enter()?;
    let until = deadline.and_then(|time| Instant::now().checked_add(time));
    let mut typed = Waiting::default();
    let mut input = Input::Open;
    loop {
        let status = running.poll();
        let Some(terminal) = running.terminal() else { return Ok(status.unwrap_or(Status::Exited(0))) };
        if status.is_some() || until.is_some_and(|until| Instant::now() >= until) {
            // What it said last is still on its way.
            while show(terminal)? {}
            drop(raw);
            return Ok(status.unwrap_or_else(|| timed_out(running)));
        }
        let mut watched = vec![readable(running.ended_fd()), readable(signals.as_fd())];
        let sending = if typed.0.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        watched.push(PollFd::from_borrowed_fd(terminal, sending));
        if input == Input::Open && typed.0.is_empty() {
            watched.push(readable(rustix::stdio::stdin()));
        }
        wait(&mut watched, until);
        let typing = watched.get(3).is_some_and(|fd| !fd.revents().is_empty());
        if watched[2].revents().intersects(PollFlags::IN | PollFlags::HUP) {
            show(terminal)?;
        }
        if typing {
            input = typed.read()?;
            if typed.0 == [suspend::KEY] && suspend::is_ours(terminal) {
                typed.0.clear();
                suspend::whole(running, || raw.leave(), || raw.resume());
                continue;
            }
        }
        typed.send(terminal)?;
        while let Some(signal) = signals.next() {
            match signal {
                SIGWINCH | SIGCONT => _ = running.resize(window_size()),
                SIGTSTP => suspend::whole(running, || raw.leave(), || raw.resume()),
                other => running.signal(other),
            }
        }
    }
}

/// Whether the person may still type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Closed,
}

/// What was typed and not passed on yet.
#[derive(Default)]
struct Waiting(Vec<u8>);

impl Waiting {
    fn read(&mut self) -> io::Result<Input> {
        let mut buffer = [0; 4096];
        match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(0) => Ok(Input::Closed),
            Ok(count) => {
                self.0.extend_from_slice(&buffer[..count]);
                Ok(Input::Open)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(Input::Open),
            Err(_) => Ok(Input::Closed),
        }
    }

    fn send(&mut self, terminal: BorrowedFd<'_>) -> io::Result<()> {
        while !self.0.is_empty() {
            match rustix::io::write(terminal, &self.0) {
                Ok(count) => drop(self.0.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => break,
                // The child has closed its side; what was typed is nobody's.
                Err(Errno::IO) => self.0.clear(),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

/// Passes on what the child said; whether there may be more.
fn show(terminal: BorrowedFd<'_>) -> io::Result<bool> {
    let mut buffer = [0; 16 << 10];
    match rustix::io::read(terminal, &mut buffer) {
        // EIO is how a terminal says that nobody is on the other side.
        Ok(0) | Err(Errno::IO | Errno::AGAIN) => Ok(false),
        Err(Errno::INTR) => Ok(true),
        Err(errno) => Err(errno.into()),
        Ok(count) => write_all(&buffer[..count]).map(|()| true),
    }
}

fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut out = [PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::OUT)];
                wait(&mut out, None);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

/// Waits for one of `watched`, or until a moment; an interruption is as good as an event.
fn wait(watched: &mut [PollFd<'_>], until: Option<Instant>) {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let _interrupted = poll(watched, left.as_ref());
}

fn timed_out(running: &mut Running) -> Status {
    running.end();
    // Two seconds from SIGTERM to SIGKILL, and a little for the kernel.
    let until = Instant::now() + Duration::from_millis(2_600);
    while running.poll().is_none() && Instant::now() < until {
        let mut watched = [readable(running.ended_fd())];
        wait(&mut watched, Some(until));
    }
    Status::TimedOut
}
