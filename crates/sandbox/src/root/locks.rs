//! Locks between processes, so that one read-change-replace does not undo another.
//!
//! They live in a directory that no agent can write in: a child that could hold a lock could stop every write.
//! A file's lock is one of a fixed number, chosen by the directory's identity and the name, so that no lock file is ever
//! left over, and replacing the file does not replace its lock.
//!
//! Invariant: a lock is held by an open file, so the kernel frees it when its holder dies.

use super::facts::Identity;
use crate::file_lock::FileLock;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, Result};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// How many locks there are. Two files that share one only wait for each other.
const STRIPES: u64 = 64;

/// A directory of locks, and how long to wait for one.
#[derive(Debug)]
pub(super) struct Locks {
    dir: OwnedFd,
    wait: Duration,
}

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
    pub(super) fn hold(&self, dir: Identity, name: &OsStr) -> Result<Option<FileLock>> {
        let stripe = hash(&[&dir.bytes(), name.as_bytes()]) % STRIPES;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.dir, format!("{stripe:02x}"), flags, Mode::from_raw_mode(0o600))?;
        FileLock::exclusive_within(file, self.wait)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

/// FNV-1a: the same in every build, since processes of different versions share the locks.
pub(super) fn hash(pieces: &[&[u8]]) -> u64 {
    pieces.iter().flat_map(|piece| piece.iter()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
