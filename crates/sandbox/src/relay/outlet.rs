//! Bytes on their way out, to somebody who may not be reading.
//!
//! Invariant: nothing here waits; what cannot be written now is kept in its order.

use rustix::io::{Errno, write};
use std::os::fd::BorrowedFd;

/// As much as a pipe that is ready surely takes without waiting. For descriptors that somebody else may have too: their
/// flags are not ours to change.
pub(super) const SURELY: usize = 4096;

/// Above this much, its source is not read.
const FULL: usize = 1 << 20;

/// Bytes that wait for a descriptor.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outlet {
    /// Where to add more.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Whether more should wait for this to be read.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() - self.sent >= FULL
    }

    /// Nobody will read it.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes at most `at_once` bytes to a descriptor that is ready; one that is gone is an error.
    pub(super) fn send(&mut self, to: BorrowedFd<'_>, at_once: usize) -> Result<(), Errno> {
        let rest = self.bytes.get(self.sent..).unwrap_or_default();
        match write(to, rest.get(..at_once).unwrap_or(rest)) {
            Ok(count) => self.sent += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(errno),
        }
        if self.is_empty() {
            self.bytes.clear();
            self.bytes.shrink_to(FULL);
            self.sent = 0;
        } else if self.sent > FULL {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }
}
