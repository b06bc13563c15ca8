//! Looks at a path through a handle that can do nothing else.

use super::{BorrowedFd, CWD, Mode, O_PATH, OFlags, ResolveFlags, Result, Stat, fstat, openat, openat2};
use std::path::Path;

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
