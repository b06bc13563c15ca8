//! A child that is kept for later: its output is drained all the time, its memory is bounded.
//!
//! Invariant: dropping one ends its child and everything that child started.

use crate::launch::clip::{Bounds, Clip, Clipped};
use crate::launch::error::LaunchError;
use crate::launch::halt::Halt;
use crate::launch::handle::Handle;
use crate::launch::keys::{self, CursorWatch, KeyError};
use crate::launch::running::Running;
use crate::launch::spec::LaunchSpec;
use crate::launch::start::start;
use crate::launch::status::Status;
use crate::launch::streams::{WindowSize, set_size};
use picoclaw_sys::linux::SupervisorCommand;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a write may wait for a child that does not read.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a child still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does.
    Running,
    /// It has ended, and so has everything it started.
    Ended(Status),
}

/// Why something could not be sent to a child.
#[derive(Debug, thiserror::Error)]
pub enum BackgroundError {
    /// It was started without input.
    #[error("no stdin available")]
    NoInput,
    /// It has ended.
    #[error("process already exited with code {code}")]
    Ended {
        /// Its exit code.
        code: i32,
    },
    /// It does not read what it is sent.
    #[error("the process did not read its input; {sent} of {all} bytes were sent")]
    Stalled {
        /// How much it has been sent.
        sent: usize,
        /// How much there was.
        all: usize,
    },
    /// A name that stands for no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The kernel's reason.
    #[error("could not write to the process")]
    Io(#[from] rustix::io::Errno),
}

/// A running child with a bounded buffer of what it has written.
#[derive(Debug)]
pub struct Background {
    handle: Arc<Handle>,
    input: Mutex<Option<OwnedFd>>,
    terminal: Option<OwnedFd>,
    shared: Arc<Shared>,
    drain: Option<JoinHandle<()>>,
    started: Instant,
}

#[derive(Debug)]
struct Shared {
    kept: Mutex<Kept>,
    changed: Condvar,
}

#[derive(Debug)]
struct Kept {
    output: Clip,
    cursor: CursorWatch,
    state: State,
}

impl Background {
    /// The bounds of a session's output between two reads: one MiB.
    pub const BOUNDS: Bounds = Bounds { head: 512 << 10, tail: 512 << 10 };

    /// Starts a child and a thread that drains it. Both outputs go into one buffer, within `spec.bounds`.
    pub fn start(spec: LaunchSpec) -> Result<Self, LaunchError> {
        let mut running = start(spec)?;
        let copy =
            |fd: &OwnedFd| fd.try_clone().map_err(|error| LaunchError::step("share its terminal", error));
        let terminal = running.ours.terminal.as_ref().map(copy).transpose()?;
        let input = if running.ours.feed.is_empty() { running.take_stdin() } else { None };
        let input = if let Some(terminal) = &terminal { Some(copy(terminal)?) } else { input };
        let kept = Kept { output: running.clip(), cursor: CursorWatch::default(), state: State::Running };
        let shared = Arc::new(Shared { kept: Mutex::new(kept), changed: Condvar::new() });
        let (handle, started) = (Arc::clone(&running.handle), running.started);
        let theirs = Arc::clone(&shared);
        let drain = thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || theirs.drain(running))
            .map_err(|error| LaunchError::step("start a thread for its output", error))?;
        Ok(Self { handle, input: Mutex::new(input), terminal, shared, drain: Some(drain), started })
    }

    /// The process number of its keeper, for a person to see.
    pub fn pid(&self) -> i32 {
        self.handle.pid()
    }

    /// When it was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Whether it still runs.
    pub fn state(&self) -> State {
        self.shared.lock().state
    }

    /// Waits for its end, for `time` at most.
    pub fn wait(&self, time: Duration) -> State {
        let kept = self.shared.lock();
        let running = |kept: &mut Kept| kept.state == State::Running;
        let waited = self.shared.changed.wait_timeout_while(kept, time, running);
        waited.unwrap_or_else(PoisonError::into_inner).0.state
    }

    /// What it has written since the last call.
    pub fn take_output(&self) -> Clipped {
        self.shared.lock().output.take()
    }

    /// Writes to its input, all of it or an error that says how much.
    pub fn write(&self, bytes: &[u8]) -> Result<(), BackgroundError> {
        if let State::Ended(status) = self.state() {
            return Err(BackgroundError::Ended { code: status.exit_code() });
        }
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(input) = input.as_ref() else { return Err(BackgroundError::NoInput) };
        let until = Instant::now() + PATIENCE;
        let mut sent = 0;
        while sent < bytes.len() {
            match rustix::io::write(input, &bytes[sent..]) {
                Ok(length) => sent += length,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) if Instant::now() < until => wait_writable(input, until),
                Err(rustix::io::Errno::AGAIN) => {
                    return Err(BackgroundError::Stalled { sent, all: bytes.len() });
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Presses keys, a comma-separated list of their names.
    pub fn send_keys(&self, names: &str) -> Result<(), BackgroundError> {
        let cursor = self.shared.lock().cursor.mode();
        self.write(&keys::encode(names, cursor)?)
    }

    /// Ends its input, as Ctrl-D would at the beginning of a line.
    pub fn close_input(&self) {
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Tells its terminal a new size; a child without one does not care.
    pub fn resize(&self, size: WindowSize) -> Result<(), rustix::io::Errno> {
        self.terminal.as_ref().map_or(Ok(()), |terminal| set_size(terminal, size))
    }

    /// Asks the whole tree to end: SIGTERM, two seconds, SIGKILL. Returns at once.
    pub fn end(&self) {
        self.handle.order(SupervisorCommand::Terminate);
    }

    /// Kills the whole tree, and returns when nobody is left of it.
    pub fn kill(&self) -> State {
        self.handle.order(SupervisorCommand::Kill);
        if self.wait(Duration::from_secs(1)) == State::Running {
            self.handle.kill_keeper();
        }
        self.wait(Duration::from_secs(1))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill();
        if let Some(drain) = self.drain.take() {
            // Nothing to hand on: a drain that failed has kept what it had.
            let _ = drain.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drain(&self, mut running: Running) {
        let status = running.stay(&Halt::new(), &mut |_, bytes| self.keep(bytes));
        self.lock().state = State::Ended(status);
        self.changed.notify_all();
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        kept.output.push(bytes);
        kept.cursor.see(bytes);
    }
}

fn wait_writable(fd: &OwnedFd, until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    let time = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    // Whatever it answers, the next write tells.
    let _ = poll(&mut [PollFd::new(fd, PollFlags::OUT)], Some(&time));
}
