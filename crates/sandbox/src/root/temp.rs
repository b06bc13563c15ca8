//! A new file under a temporary name, until it takes its place.
//!
//! Invariant: a temporary file either takes its place or is removed; only a killed process leaves one behind, and it
//! is 0600 until the moment before it takes its place.

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, unlinkat};
use rustix::io::{Errno, Result, write};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// How often a name that is taken is replaced by another.
const TRIES: usize = 16;

/// A file that is being written.
pub(crate) struct Temp<'a> {
    dir: &'a OwnedFd,
    name: String,
    file: OwnedFd,
    settled: bool,
}

/// What may be at the name that a new file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taking {
    /// Anything but a directory: it is replaced.
    Whatever,
    /// Nothing: the kernel checks and renames in one step.
    Free,
}

impl<'a> Temp<'a> {
    /// Makes an empty file in `dir`, 0600, under a name of its own.
    pub(crate) fn create(dir: &'a OwnedFd, pid: u32) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tries = TRIES;
        loop {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = format!(".tmp-{}-{}", pid, since.as_nanos());
            match openat(dir, &name, flags, Mode::from_raw_mode(0o600)) {
                Ok(file) => return Ok(Self { dir, name, file, settled: false }),
                Err(Errno::EXIST) if tries > 0 => tries -= 1,
                Err(errno) => return Err(errno),
            }
        }
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Adds `bytes` to the end.
    pub(crate) fn add(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match write(&self.file, bytes) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Takes the name `name`, in one step.
    pub(crate) fn take(mut self, name: &OsStr, taking: Taking) -> Result<()> {
        match taking {
            Taking::Whatever => renameat(self.dir, &self.name, self.dir, name)?,
            Taking::Free => match renameat_with(self.dir, &self.name, self.dir, name, RenameFlags::NOREPLACE)
            {
                // Not every file system or seccomp profile knows the flag; a hard link does not replace either.
                Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => {
                    linkat(self.dir, &self.name, self.dir, name, AtFlags::empty())?;
                    return Ok(());
                }
                settled => settled?,
            },
        }
        self.settled = true;
        Ok(())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.settled {
            // Nothing better can be done about a failure here; the sweep comes for it.
            let _ = unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// Whether `name` is one that [`Temp::create`] would give.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let Some(rest) = name.as_bytes().strip_prefix(b".tmp-") else { return false };
    let mut parts = rest.splitn(2, |byte| *byte == b'-');
    parts.next().is_some_and(digits) && parts.next().is_some_and(digits)
}
