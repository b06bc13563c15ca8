//! Copies bytes between a stream of this process and the pipe that stands in for it.
//!
//! Input from a pipe is duplicated, and taken out of that pipe once the child has read it: a script
//! that is read from there continues with what its commands leave.

use super::nonblocking::{is_ready, read_ready, write_ready};
use super::poll_fd;
use crate::launch::{RelayedPipe, UserTerminal, stream};
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, ioctl_fionread};
use rustix::pipe::{SpliceFlags, tee};
use std::os::fd::{AsFd, BorrowedFd};

/// A pipe, and the bytes that were read and not written yet.
pub(super) struct PipeRelay {
    relayed: RelayedPipe,
    bytes: Vec<u8>,
    /// How many bytes at the front of the input the child's pipe holds, or held before the child
    /// read them.
    duplicated: usize,
    is_open: bool,
}

impl PipeRelay {
    pub(super) fn new(relayed: RelayedPipe) -> Self {
        Self { relayed, bytes: Vec::new(), duplicated: 0, is_open: true }
    }

    /// Whether it copies from the child.
    pub(super) fn is_output(&self) -> bool {
        self.relayed.stream != 0
    }

    /// Whether both ends are there. One that is not is dropped: the child then reads the end of its
    /// input, or writes to a closed pipe.
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
        match self.bytes.is_empty() && self.duplicated == 0 {
            true if self.is_available() => Some(poll_fd(from, PollFlags::IN)),
            true => None,
            false => Some(poll_fd(to, PollFlags::OUT)),
        }
    }

    /// Reads and writes once; whether a byte was moved.
    pub(super) fn copy(&mut self) -> bool {
        if self.relayed.keeps_unread {
            return self.duplicate();
        }
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

    /// Duplicates the next piece of the input once the child has read the one before; whether there
    /// was one.
    fn duplicate(&mut self) -> bool {
        const MOST: usize = 64 << 10;
        // The child's pipe has room for one buffer, so it can be written when it is empty.
        if self.duplicated > 0 && !is_ready(self.ends().1, PollFlags::OUT) {
            return false;
        }
        self.take_what_was_read();
        let (from, to) = self.ends();
        match tee(from, to, MOST, SpliceFlags::NONBLOCK) {
            Ok(0) => self.is_open = false,
            Ok(count) => {
                self.duplicated = count;
                return true;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::INVAL) => self.relayed.keeps_unread = false,
            Err(_) => self.is_open = false,
        }
        false
    }

    /// Takes out of the input what the child has read of it.
    fn take_what_was_read(&mut self) {
        let unread = ioctl_fionread(&self.relayed.pipe).unwrap_or_default();
        let mut left = self.duplicated.saturating_sub(usize::try_from(unread).unwrap_or(usize::MAX));
        self.duplicated -= left;
        let mut buffer = [0; 16 << 10];
        while left > 0 {
            let most = left.min(buffer.len());
            match read_ready(self.ends().0, buffer.get_mut(..most).unwrap_or_default()) {
                Ok(count @ 1..) => left = left.saturating_sub(count),
                Ok(0) | Err(_) => return,
            }
        }
    }

    /// Where bytes come from, and where they go.
    fn ends(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        let (stream, pipe) = (stream(self.relayed.stream), self.relayed.pipe.as_fd());
        if self.is_output() { (pipe, stream) } else { (stream, pipe) }
    }
}

impl Drop for PipeRelay {
    fn drop(&mut self) {
        self.take_what_was_read();
    }
}
