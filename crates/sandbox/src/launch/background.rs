//! A child in the background: a thread drains its output into a bounded buffer.

use crate::launch::cancel::CancelToken;
use crate::launch::error::LaunchError;
use crate::launch::output_limit::{HeadTail, OutputLimit, TruncatedOutput};
use crate::launch::platform::{BackgroundChild, Running, start};
use crate::launch::run::{KERNEL_TIMEOUT, KILL_TIMEOUT};
use crate::launch::spec::LaunchSpec;
use crate::launch::status::Status;
use crate::launch::streams::WindowSize;
use crate::launch::terminal_keys::{self, CursorWatch, KeyError};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
    Io(#[from] io::Error),
}

/// A running child with a bounded buffer of its output. Dropping it kills the child and everything
/// it started.
#[derive(Debug)]
pub struct Background {
    child: BackgroundChild,
    shared: Arc<Shared>,
    drain: Option<JoinHandle<()>>,
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

    /// Starts a child and a thread that drains it. Standard output and error go into one buffer,
    /// within `spec.output_limit`.
    pub fn start(spec: LaunchSpec) -> Result<Self, LaunchError> {
        let mut running = start(spec)?;
        let child = BackgroundChild::of(&mut running)?;
        let state = SharedState {
            output: running.new_output(),
            cursor: CursorWatch::default(),
            state: State::Running,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let shared_with_thread = Arc::clone(&shared);
        let drain = thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || shared_with_thread.drain(running))
            .map_err(|error| LaunchError::step("start a thread for its output", error))?;
        Ok(Self { child, shared, drain: Some(drain) })
    }

    /// The pid of its supervisor, for display.
    pub fn pid(&self) -> i32 {
        self.child.pid()
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
        self.child.write(bytes)
    }

    /// Writes the bytes of keys, a comma-separated list of their names.
    pub fn send_keys(&self, names: &str) -> Result<(), BackgroundError> {
        let cursor = self.shared.lock().cursor.mode();
        self.write(&terminal_keys::encode(names, cursor)?)
    }

    /// Sets the size of its pseudo-terminal, if it has one.
    pub fn resize(&self, size: WindowSize) -> io::Result<()> {
        self.child.resize(size)
    }

    /// Asks the whole tree to end: SIGTERM, two seconds, SIGKILL. Returns at once.
    pub fn end(&self) {
        self.child.end();
    }

    /// Kills the whole tree and waits for its end.
    pub fn kill(&self) -> State {
        self.child.kill();
        if self.wait(KILL_TIMEOUT) == State::Running {
            self.child.kill_supervisor();
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
