//! Input and end of a child in the background.

use super::running::Running;
use crate::launch::background::BackgroundError;
use crate::launch::error::LaunchError;
use crate::launch::platform::Child;
use crate::launch::streams::WindowSize;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a write waits for a child that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// What is left of a child whose output a thread drains.
#[derive(Debug)]
pub(in crate::launch) struct BackgroundChild {
    child: Arc<Child>,
    input: Mutex<Option<Input>>,
}

/// The thread that writes to the pipe, which may block: what it is given, and what became of it.
#[derive(Debug)]
struct Input {
    requests: Sender<Vec<u8>>,
    written: Receiver<io::Result<()>>,
}

impl BackgroundChild {
    /// Takes the standard input that the caller has left.
    pub(in crate::launch) fn of(running: &mut Running) -> Result<Self, LaunchError> {
        let pipe = if running.streams.input.is_empty() { running.take_stdin() } else { None };
        let input = pipe.map(|pipe| Input::new(pipe.into())).transpose();
        let input = input.map_err(|error| LaunchError::step("start a thread for its input", error))?;
        Ok(Self { child: Arc::clone(&running.child), input: Mutex::new(input) })
    }

    pub(in crate::launch) fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// Writes all of `bytes` to its standard input. A child that does not read in time gets no more
    /// input.
    pub(in crate::launch) fn write(&self, bytes: &[u8]) -> Result<(), BackgroundError> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Input { requests, written }) = input.as_ref() else { return Err(BackgroundError::NoInput) };
        if requests.send(bytes.to_vec()).is_err() {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
        }
        match written.recv_timeout(WRITE_TIMEOUT) {
            Ok(written) => Ok(written?),
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
            Err(RecvTimeoutError::Timeout) => {
                *input = None;
                Err(BackgroundError::Stalled { sent: 0, all: bytes.len() })
            }
        }
    }

    /// There are no pseudo-terminals here.
    pub(in crate::launch) fn resize(&self, _size: WindowSize) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::launch) fn end(&self) {
        self.child.end();
    }

    pub(in crate::launch) fn kill(&self) {
        self.child.kill();
    }

    pub(in crate::launch) fn kill_supervisor(&self) {
        self.child.kill();
    }
}

impl Input {
    fn new(mut pipe: File) -> io::Result<Self> {
        let (requests, receiver) = mpsc::channel::<Vec<u8>>();
        let (sender, written) = mpsc::channel();
        // The pipe is closed when no more requests can come.
        thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            for bytes in receiver {
                if sender.send(pipe.write_all(&bytes)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, written })
    }
}
