//! A child in the foreground: the person's terminal and signals are its own for as long as it runs.
//!
//! With a terminal, the child has a pseudo-terminal and everything is relayed, so it can neither type into the real
//! one nor change it for good; without, descriptors are plain and only signals are passed on.
//!
//! Invariant: the person's terminal is as it was, whenever this returns or stops.

use crate::launch::error::LaunchError;
use crate::launch::handle::wait_for;
use crate::launch::running::{BACKSTOP, Running};
use crate::launch::spec::LaunchSpec;
use crate::launch::start::start;
use crate::launch::status::Status;
use crate::launch::streams::WindowSize;
use picoclaw_sys::linux::SignalWatch;
use rustix::event::PollFlags;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Signals that are passed on as they are.
const PASSED_ON: [i32; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// The size of the person's terminal, when input and output both are one.
pub fn own_terminal() -> Option<WindowSize> {
    if !isatty(stdin()) || !isatty(stdout()) {
        return None;
    }
    let size = tcgetwinsize(stdout()).ok()?;
    Some(WindowSize { rows: size.ws_row.max(1), columns: size.ws_col.max(1) })
}

/// Starts a child in the foreground and stays with it until its end. To be called on the main thread.
pub fn attend(spec: LaunchSpec) -> Result<Status, LaunchError> {
    let watched = PASSED_ON.into_iter().chain([libc::SIGWINCH, libc::SIGTSTP, libc::SIGCONT]);
    // Before the child is there: a signal that comes in between is for it, too.
    let signals = SignalWatch::new(&watched.collect::<Vec<_>>()).map_err(failed)?;
    stay(start(spec)?, &signals).map_err(failed)
}

fn failed(error: io::Error) -> LaunchError {
    LaunchError::step("attend to the child", error)
}

fn stay(mut running: Running, signals: &SignalWatch) -> io::Result<Status> {
    let raw = running.terminal().is_some().then(RawTerminal::new).transpose()?;
    let mut relay = Relay { raw, input_open: true };
    let mut until = running.deadline;
    let mut timed_out = false;
    let status = loop {
        if let Some(status) = running.poll() {
            break status;
        }
        relay.turn(&running, signals, until)?;
        if until.is_some_and(|until| Instant::now() >= until) {
            if timed_out {
                running.handle.kill_keeper()
            } else {
                running.end()
            }
            timed_out = true;
            until = Some(Instant::now() + BACKSTOP);
        }
    };
    while relay.output(&running)? {}
    Ok(if timed_out { Status::TimedOut } else { status })
}

struct Relay {
    raw: Option<RawTerminal>,
    input_open: bool,
}

impl Relay {
    fn turn(&mut self, running: &Running, signals: &SignalWatch, until: Option<Instant>) -> io::Result<()> {
        let terminal = running.terminal();
        let mut wanted = vec![running.ended_fd(), signals.as_fd()];
        wanted.extend(terminal);
        wanted.extend(terminal.filter(|_| self.input_open).map(|_| stdin()));
        wait_for(&wanted, PollFlags::IN, until);
        while let Some(signal) = signals.next() {
            self.signal(running, signal)?;
        }
        self.input(running)?;
        self.output(running).map(drop)
    }

    fn signal(&mut self, running: &Running, signal: i32) -> io::Result<()> {
        match signal {
            libc::SIGWINCH => resize(running),
            libc::SIGTSTP => self.suspend(running),
            libc::SIGCONT => Ok(()),
            other => {
                running.signal(other);
                Ok(())
            }
        }
    }

    /// Gives the terminal back, stops like any job, and takes it again when continued.
    fn suspend(&mut self, running: &Running) -> io::Result<()> {
        let had_terminal = self.raw.take().is_some();
        running.signal(libc::SIGTSTP);
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
        if had_terminal {
            self.raw = Some(RawTerminal::new()?);
        }
        running.signal(libc::SIGCONT);
        resize(running)
    }

    fn input(&mut self, running: &Running) -> io::Result<()> {
        let Some(terminal) = running.terminal().filter(|_| self.input_open) else { return Ok(()) };
        if !wait_for(&[stdin()], PollFlags::IN, Some(Instant::now())) {
            return Ok(());
        }
        let mut buffer = [0u8; 4096];
        match rustix::io::read(stdin(), &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::IO) => {
                // The person's terminal is gone, and so is whoever could type an end.
                self.input_open = false;
                running.end();
            }
            Ok(length) => write_all(terminal, buffer.get(..length).unwrap_or(&[]))?,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// One piece of output; whether there was any.
    fn output(&mut self, running: &Running) -> io::Result<bool> {
        let Some(terminal) = running.terminal() else { return Ok(false) };
        let mut buffer = [0u8; 16 << 10];
        match rustix::io::read(terminal, &mut buffer) {
            Ok(length @ 1..) => write_all(stdout(), buffer.get(..length).unwrap_or(&[])).map(|()| true),
            // Nothing yet, or nobody left who could write.
            Ok(0) | Err(_) => Ok(false),
        }
    }
}

fn resize(running: &Running) -> io::Result<()> {
    own_terminal().map_or(Ok(()), |size| Ok(running.resize(size)?))
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(length) => bytes = bytes.get(length..).unwrap_or(&[]),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                wait_for(&[to], PollFlags::OUT, None);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// The person's terminal, passing every key on; put back when dropped.
struct RawTerminal(Termios);

impl RawTerminal {
    fn new() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Drain, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no putting back.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.0);
    }
}
