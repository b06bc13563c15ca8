//! Write locks between processes, so that one read-modify-replace does not undo another.
//!
//! The lock files lie in a directory that no agent can write: a child that held a lock could stop
//! every write. Their number is fixed, and a file's lock is chosen by its directory's inode and its
//! name, so none is left over and replacing a file does not replace its lock.

use super::metadata::DevIno;
use crate::file_lock::FileLock;
use crate::os_file::{CWD, Errno, Mode, O_PATH, OFlags, OwnedFd, Result, openat};
use picoclaw_policy::windows_path::case_key;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// How many lock files there are. Two files that share one only wait for each other.
const LOCK_FILES: u64 = 64;

/// A directory of lock files.
#[derive(Debug)]
pub(super) struct Locks {
    dir: OwnedFd,
    timeout: Duration,
}

impl Locks {
    pub(super) fn open(dir: &Path, timeout: Duration) -> Result<Self> {
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { dir: openat(CWD, dir, flags, Mode::empty())?, timeout })
    }

    /// The directory.
    pub(super) fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// How long a lock is waited for.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Takes the lock of `name` in the directory `dir`; `None` after the timeout.
    pub(super) fn lock(&self, dir: DevIno, name: &OsStr) -> Result<Option<FileLock>> {
        // Where case does not matter, two spellings are one file.
        let folded = cfg!(windows).then(|| case_key(&name.to_string_lossy()));
        let name = folded.as_deref().map_or(name, OsStr::new);
        let number = hash(&[&dir.bytes(), name.as_encoded_bytes()]) % LOCK_FILES;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.dir, format!("{number:02x}"), flags, Mode::from_raw_mode(0o600))?;
        FileLock::exclusive_within(file, self.timeout)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

/// FNV-1a: stable across builds, because programs of different versions share the locks.
pub(super) fn hash(pieces: &[&[u8]]) -> u64 {
    pieces.iter().flat_map(|piece| piece.iter()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
