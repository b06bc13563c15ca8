//! Copies bytes between a stream of this process and the pipe that stands in for it.

use super::nonblocking::{read_ready, write_ready};
use super::poll_fd;
use crate::launch::{RelayedPipe, UserTerminal, stream};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};

/// A pipe, and the bytes that were read and not written yet.
pub(super) struct PipeRelay {
    relayed: RelayedPipe,
    bytes: Vec<u8>,
    is_open: bool,
}

impl PipeRelay {
    pub(super) fn new(relayed: RelayedPipe) -> Self {
        Self { relayed, bytes: Vec::new(), is_open: true }
    }

    /// Whether it copies from the child.
    pub(super) fn is_output(&self) -> bool {
        self.relayed.stream != 0
    }

    /// Whether both ends are there. One that is not is dropped: the child then reads the end of its input, or writes to a
    /// closed pipe.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn has_pending(&self) -> bool {
        self.is_open && !self.bytes.is_empty()
    }

    /// Whether its source may be read. Keys that are typed for another job may not.
    pub(super) fn is_available(&self) -> bool {
        self.is_output() || self.relayed.terminal.as_ref().is_none_or(UserTerminal::is_available)
    }

    pub(super) fn poll_fd(&self) -> Option<PollFd<'_>> {
        let (from, to) = self.ends();
        match self.bytes.is_empty() {
            true if self.is_available() => Some(poll_fd(from, PollFlags::IN)),
            true => None,
            false => Some(poll_fd(to, PollFlags::OUT)),
        }
    }

    /// Reads and writes once; whether a byte was moved.
    pub(super) fn copy(&mut self) -> bool {
        let mut is_moved = false;
        if self.bytes.is_empty() && self.is_available() {
            let mut buffer = [0; 16 << 10];
            match read_ready(self.ends().0, &mut buffer) {
                Ok(count @ 1..) => self.bytes.extend_from_slice(buffer.get(..count).unwrap_or(&[])),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok(0) | Err(_) => self.is_open = false,
            }
        }
        if !self.bytes.is_empty() {
            match write_ready(self.ends().1, &self.bytes) {
                Ok(count) => {
                    self.bytes.drain(..count);
                    is_moved = true;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => self.is_open = false,
            }
        }
        is_moved
    }

    /// Where bytes come from, and where they go.
    fn ends(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        let (stream, pipe) = (stream(self.relayed.stream), self.relayed.pipe.as_fd());
        if self.is_output() { (pipe, stream) } else { (stream, pipe) }
    }
}
