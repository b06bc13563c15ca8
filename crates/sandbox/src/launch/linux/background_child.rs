//! Input, terminal and end of a child in the background.

use crate::launch::background::BackgroundError;
use crate::launch::error::LaunchError;
use crate::launch::linux::child_streams::set_size;
use crate::launch::linux::running::Running;
use crate::launch::linux::supervisor_handle::SupervisorHandle;
use crate::launch::streams::WindowSize;
use picoclaw_sys::linux::SupervisorCommand;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a write waits for a child that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// What is left of a child whose output a thread drains.
#[derive(Debug)]
pub(in crate::launch) struct BackgroundChild {
    supervisor: Arc<SupervisorHandle>,
    input: Mutex<Option<OwnedFd>>,
    terminal: Option<OwnedFd>,
}

impl BackgroundChild {
    /// Takes the standard input that the caller has left, and copies of the terminal.
    pub(in crate::launch) fn of(running: &mut Running) -> Result<Self, LaunchError> {
        let copy =
            |fd: &OwnedFd| fd.try_clone().map_err(|error| LaunchError::step("share its terminal", error));
        let terminal = running.streams.terminal.as_ref().map(copy).transpose()?;
        let input = if running.streams.input.is_empty() { running.take_stdin() } else { None };
        let input = if let Some(terminal) = &terminal { Some(copy(terminal)?) } else { input };
        Ok(Self { supervisor: Arc::clone(&running.supervisor), input: Mutex::new(input), terminal })
    }

    pub(in crate::launch) fn pid(&self) -> i32 {
        self.supervisor.pid()
    }

    /// Writes all of `bytes` to its standard input; an error says how much was written.
    pub(in crate::launch) fn write(&self, bytes: &[u8]) -> Result<(), BackgroundError> {
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(input) = input.as_ref() else { return Err(BackgroundError::NoInput) };
        let until = Instant::now() + WRITE_TIMEOUT;
        let mut sent = 0;
        while sent < bytes.len() {
            match rustix::io::write(input, &bytes[sent..]) {
                Ok(length) => sent += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if Instant::now() < until => wait_writable(input, until),
                Err(Errno::AGAIN) => {
                    return Err(BackgroundError::Stalled { sent, all: bytes.len() });
                }
                Err(errno) => return Err(io::Error::from(errno).into()),
            }
        }
        Ok(())
    }

    /// Sets the size of its pseudo-terminal, if it has one.
    pub(in crate::launch) fn resize(&self, size: WindowSize) -> io::Result<()> {
        Ok(self.terminal.as_ref().map_or(Ok(()), |terminal| set_size(terminal, size))?)
    }

    pub(in crate::launch) fn end(&self) {
        self.supervisor.send(SupervisorCommand::Terminate);
    }

    pub(in crate::launch) fn kill(&self) {
        self.supervisor.send(SupervisorCommand::Kill);
    }

    pub(in crate::launch) fn kill_supervisor(&self) {
        self.supervisor.kill_supervisor();
    }
}

fn wait_writable(fd: &OwnedFd, until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    let time = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    // The next write shows whether it is writable.
    let _ = poll(&mut [PollFd::new(fd, PollFlags::OUT)], Some(&time));
}
