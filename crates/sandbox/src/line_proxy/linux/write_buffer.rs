//! A queue of bytes for a descriptor whose reader may be slow.

use rustix::io::{Errno, write};
use std::os::fd::BorrowedFd;

/// How much a pipe that polls writable takes without blocking. For inherited descriptors, whose
/// flags are shared with other processes.
pub(super) const ATOMIC_WRITE: usize = 4096;

/// With this much queued, its source is not read.
const HIGH_WATER: usize = 1 << 20;

/// Queued bytes, in order. Nothing here blocks.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    written: usize,
}

impl WriteBuffer {
    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether everything was written.
    pub(super) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Whether its source should wait.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() - self.written >= HIGH_WATER
    }

    /// Discards everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes at most `max` bytes to a descriptor that polls writable; an error when its reader is
    /// gone.
    pub(super) fn write_to(&mut self, fd: BorrowedFd<'_>, max: usize) -> Result<(), Errno> {
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        match write(fd, rest.get(..max).unwrap_or(rest)) {
            Ok(count) => self.written += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(errno),
        }
        if self.is_empty() {
            self.bytes.clear();
            self.bytes.shrink_to(HIGH_WATER);
            self.written = 0;
        } else if self.written > HIGH_WATER {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }
}
