//! One writer at a time, between processes.
//!
//! The lock is on `HEAD` itself, which is never replaced: whoever holds it then checks that the name still
//! leads to the file it locked.
//!
//! Invariant: waiting for the lock is bounded; a stopped process cannot hang another for ever.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

/// How long to wait for somebody else. Holding it takes microseconds; recovery of a segment, tenths of a second.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A held lock; dropping it lets go.
#[derive(Debug)]
#[must_use = "the lock is let go at once"]
pub(super) struct Held<'f>(&'f File);

impl<'f> Held<'f> {
    /// Takes the lock; `None` when somebody kept it for all of [`PATIENCE`].
    pub(super) fn take(file: &'f File) -> io::Result<Option<Self>> {
        let mut pause = Duration::from_micros(20);
        let mut deadline = None;
        loop {
            match flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Self(file))),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let now = Instant::now();
            if now >= *deadline.get_or_insert(now + PATIENCE) {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing the file lets go as well; there is nothing to add if this fails.
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}
