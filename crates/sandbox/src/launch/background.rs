//! A child in the background: a thread drains its output into a bounded buffer.

use crate::launch::cancel::CancelToken;
use crate::launch::error::LaunchError;
use crate::launch::output_limit::{HeadTail, OutputLimit, TruncatedOutput};
use crate::launch::running::{KERNEL_TIMEOUT, KILL_TIMEOUT, Running};
use crate::launch::spec::LaunchSpec;
use crate::launch::start::start;
use crate::launch::status::Status;
use crate::launch::streams::{WindowSize, set_size};
use crate::launch::supervisor_handle::SupervisorHandle;
use crate::launch::terminal_keys::{self, CursorWatch, KeyError};
use picoclaw_sys::linux::SupervisorCommand;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a write waits for a child that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether a child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// Its whole tree has ended.
    Ended(Status),
}

/// Why input could not be sent to a child.
#[derive(Debug, thiserror::Error)]
pub enum BackgroundError {
    /// It has no standard input.
    #[error("no stdin available")]
    NoInput,
    /// It has ended.
    #[error("process already exited with code {code}")]
    Ended {
        /// Its exit code.
        code: i32,
    },
    /// It does not read its input.
    #[error("the process did not read its input; {sent} of {all} bytes were sent")]
    Stalled {
        /// Bytes that were written.
        sent: usize,
        /// Bytes that were to be written.
        all: usize,
    },
    /// A name that stands for no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The write failed.
    #[error("could not write to the process")]
    Io(#[from] rustix::io::Errno),
}

/// A running child with a bounded buffer of its output. Dropping it kills the child and everything it started.
#[derive(Debug)]
pub struct Background {
    supervisor: Arc<SupervisorHandle>,
    input: Mutex<Option<OwnedFd>>,
    terminal: Option<OwnedFd>,
    shared: Arc<Shared>,
    drain: Option<JoinHandle<()>>,
    started: Instant,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<SharedState>,
    changed: Condvar,
}

#[derive(Debug)]
struct SharedState {
    output: HeadTail,
    cursor: CursorWatch,
    state: State,
}

impl Background {
    /// The output limit of a session between two reads: one MiB.
    pub const OUTPUT_LIMIT: OutputLimit = OutputLimit { head: 512 << 10, tail: 512 << 10 };

    /// Starts a child and a thread that drains it. Standard output and error go into one buffer, within `spec.output_limit`.
    pub fn start(spec: LaunchSpec) -> Result<Self, LaunchError> {
        let mut running = start(spec)?;
        let copy =
            |fd: &OwnedFd| fd.try_clone().map_err(|error| LaunchError::step("share its terminal", error));
        let terminal = running.streams.terminal.as_ref().map(copy).transpose()?;
        let input = if running.streams.input.is_empty() { running.take_stdin() } else { None };
        let input = if let Some(terminal) = &terminal { Some(copy(terminal)?) } else { input };
        let state = SharedState {
            output: running.new_output(),
            cursor: CursorWatch::default(),
            state: State::Running,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (supervisor, started) = (Arc::clone(&running.supervisor), running.started);
        let shared_with_thread = Arc::clone(&shared);
        let drain = thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || shared_with_thread.drain(running))
            .map_err(|error| LaunchError::step("start a thread for its output", error))?;
        Ok(Self { supervisor, input: Mutex::new(input), terminal, shared, drain: Some(drain), started })
    }

    /// The pid of its supervisor, for display.
    pub fn pid(&self) -> i32 {
        self.supervisor.pid()
    }

    /// When it was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Whether it runs.
    pub fn state(&self) -> State {
        self.shared.lock().state
    }

    /// Waits for its end, for `time` at most.
    pub fn wait(&self, time: Duration) -> State {
        let state = self.shared.lock();
        let is_running = |state: &mut SharedState| state.state == State::Running;
        let waited = self.shared.changed.wait_timeout_while(state, time, is_running);
        waited.unwrap_or_else(PoisonError::into_inner).0.state
    }

    /// Its output since the last call.
    pub fn take_output(&self) -> TruncatedOutput {
        self.shared.lock().output.take()
    }

    /// Writes all of `bytes` to its standard input; an error says how much was written.
    pub fn write(&self, bytes: &[u8]) -> Result<(), BackgroundError> {
        if let State::Ended(status) = self.state() {
            return Err(BackgroundError::Ended { code: status.exit_code() });
        }
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(input) = input.as_ref() else { return Err(BackgroundError::NoInput) };
        let until = Instant::now() + WRITE_TIMEOUT;
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

    /// Writes the bytes of keys, a comma-separated list of their names.
    pub fn send_keys(&self, names: &str) -> Result<(), BackgroundError> {
        let cursor = self.shared.lock().cursor.mode();
        self.write(&terminal_keys::encode(names, cursor)?)
    }

    /// Closes its standard input.
    pub fn close_input(&self) {
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Sets the size of its pseudo-terminal, if it has one.
    pub fn resize(&self, size: WindowSize) -> Result<(), rustix::io::Errno> {
        self.terminal.as_ref().map_or(Ok(()), |terminal| set_size(terminal, size))
    }

    /// Asks the whole tree to end: SIGTERM, two seconds, SIGKILL. Returns at once.
    pub fn end(&self) {
        self.supervisor.send(SupervisorCommand::Terminate);
    }

    /// Kills the whole tree and waits for its end.
    pub fn kill(&self) -> State {
        self.supervisor.send(SupervisorCommand::Kill);
        if self.wait(KILL_TIMEOUT) == State::Running {
            self.supervisor.kill_supervisor();
        }
        self.wait(KERNEL_TIMEOUT)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill();
        if let Some(drain) = self.drain.take() {
            // A thread that panicked has nothing to report.
            let _ = drain.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drain(&self, mut running: Running) {
        let status = running.poll_until_exit(&CancelToken::new(), &mut |_, bytes| self.push(bytes));
        self.lock().state = State::Ended(status);
        self.changed.notify_all();
    }

    fn push(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.output.push(bytes);
        state.cursor.see(bytes);
    }
}

fn wait_writable(fd: &OwnedFd, until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    let time = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    // The next write shows whether it is writable.
    let _ = poll(&mut [PollFd::new(fd, PollFlags::OUT)], Some(&time));
}
