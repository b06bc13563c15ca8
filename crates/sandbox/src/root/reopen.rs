//! From a handle that only knows an object to one that reads it.
//!
//! `/proc/self/fd/N` leads to the very object that handle `N` is on. Where there is no /proc, the name is opened
//! again in the held directory, without following a link, and counts only if it still is the same object.
//!
//! Invariant: what comes back has the identity that was located.

use super::facts::Facts;
use super::openat2::LOOK;
use super::walk::Spot;
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::{Errno, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Whether /proc may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proc {
    Mounted,
    Missing,
}

/// Opens a located file for reading.
pub(super) fn file(handle: &OwnedFd, facts: &Facts, spot: &Spot, proc: Proc) -> Result<OwnedFd> {
    let by_proc = match proc {
        Proc::Missing => Err(Errno::NOENT),
        Proc::Mounted => openat(CWD, format!("/proc/self/fd/{}", handle.as_raw_fd()), LOOK, Mode::empty()),
    };
    let opened = match by_proc {
        Err(Errno::NOENT | Errno::NOTDIR) => {
            openat(&spot.dir, &spot.name, LOOK | OFlags::NOFOLLOW, Mode::empty())
        }
        settled => settled,
    };
    let opened = opened?;
    // STALE is this room's word for "something else is there now".
    if Facts::from(fstat(&opened)?).id() == facts.id() { Ok(opened) } else { Err(Errno::STALE) }
}

/// Opens a held directory for reading; no name is needed for that.
pub(super) fn directory(handle: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(handle.as_fd(), c".", flags, Mode::empty())
}
