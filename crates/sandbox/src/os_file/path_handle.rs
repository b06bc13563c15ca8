//! Looks at a name through a handle that can do nothing else.

use super::{
    BorrowedFd, CWD, Mode, O_PATH, OFlags, OwnedFd, ResolveFlags, Result, Stat, fstat, openat, openat2,
};
use std::ffi::OsStr;
use std::path::Path;

/// What has a name in a directory, a link itself included, and a handle for it.
pub(crate) fn open_entry(dir: BorrowedFd<'_>, name: &OsStr) -> Result<(Stat, OwnedFd)> {
    let flags = O_PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(dir, name, flags, Mode::empty())?;
    Ok((fstat(&handle)?, handle))
}

/// What a path beneath a directory leads to, without following a link.
pub(crate) fn lstat_beneath(dir: BorrowedFd<'_>, path: &Path) -> Result<Stat> {
    let flags = O_PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    fstat(openat2(dir, path, flags, Mode::empty(), resolve)?)
}

/// What a path leads to.
pub(crate) fn stat_path(path: &Path) -> Result<Stat> {
    fstat(openat(CWD, path, O_PATH | OFlags::CLOEXEC, Mode::empty())?)
}
