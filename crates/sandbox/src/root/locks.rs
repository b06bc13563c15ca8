//! Locks between processes, so that one read-change-replace does not undo another.
//!
//! They live in a directory that no agent can write in: a child that could hold a lock could stop every write.
//! A file's lock is one of a fixed number, chosen by the directory's identity and the name, so that no lock file is ever
//! left over, and replacing the file does not replace its lock.
//!
//! Invariant: a lock is held by an open file, so the kernel frees it when its holder dies.

use super::facts::Identity;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, Result};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many locks there are. Two files that share one only wait for each other.
const STRIPES: u64 = 64;

/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(8);

/// A directory of locks, and how long to wait for one.
#[derive(Debug)]
pub(super) struct Locks {
    dir: OwnedFd,
    wait: Duration,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
#[must_use = "a lock that is dropped is free again"]
pub(super) struct Held(#[expect(dead_code, reason = "closing it frees the lock")] OwnedFd);

impl Locks {
    pub(super) fn open(dir: &Path, wait: Duration) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { dir: openat(CWD, dir, flags, Mode::empty())?, wait })
    }

    /// The directory that the locks are in.
    pub(super) fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// How long a lock is waited for.
    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// Takes the lock of `name` in the directory `dir`; `None` when it was not free in time.
    pub(super) fn hold(&self, dir: Identity, name: &OsStr) -> Result<Option<Held>> {
        let stripe = hash(&[&dir.bytes(), name.as_bytes()]) % STRIPES;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.dir, format!("{stripe:02x}"), flags, Mode::from_raw_mode(0o600))?;
        let until = Instant::now().checked_add(self.wait);
        let mut pause = PAUSE / 32;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Held(file))),
                Err(Errno::WOULDBLOCK) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
            }
            if until.is_none_or(|until| Instant::now() >= until) {
                return Ok(None);
            }
            // `flock` knows no deadline, so a bounded wait has to ask again.
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }
}

/// FNV-1a: the same in every build, since processes of different versions share the locks.
pub(super) fn hash(pieces: &[&[u8]]) -> u64 {
    pieces.iter().flat_map(|piece| piece.iter()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
