//! Opens an `O_PATH` descriptor for reading.
//!
//! `/proc/self/fd/N` leads to the object behind descriptor `N`. Without `/proc` the name is opened
//! again in its directory, without following links, and compared.
//!
//! Invariant: what is returned has the device and inode that were located.

use super::metadata::FileMeta;
use super::openat2_resolver::OPEN_READ;
use super::walk_resolver::DirEntryRef;
use crate::os_file::{AsFd, BorrowedFd, Errno, Mode, OFlags, OwnedFd, Result, fstat, open_by_proc, openat};

/// Whether /proc may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proc {
    Mounted,
    Missing,
}

/// Opens a located file for reading.
pub(super) fn file(handle: &OwnedFd, meta: &FileMeta, entry: &DirEntryRef, proc: Proc) -> Result<OwnedFd> {
    let by_proc = match proc {
        Proc::Missing => Err(Errno::NOENT),
        Proc::Mounted => open_by_proc(handle.as_fd(), OPEN_READ),
    };
    let opened = match by_proc {
        Err(Errno::NOENT | Errno::NOTDIR) => {
            openat(&entry.dir, &entry.name, OPEN_READ | OFlags::NOFOLLOW, Mode::empty())
        }
        done => done,
    };
    let opened = opened?;
    // ESTALE becomes `RootError::Changed`.
    if FileMeta::from(fstat(&opened)?).id() == meta.id() { Ok(opened) } else { Err(Errno::STALE) }
}

/// Opens a directory for reading; its name is not needed.
pub(super) fn directory(handle: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(handle.as_fd(), c".", flags, Mode::empty())
}
