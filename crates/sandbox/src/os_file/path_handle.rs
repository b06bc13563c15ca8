//! Looks at a path through a handle that can do nothing else.

use super::{BorrowedFd, CWD, Mode, O_PATH, OFlags, Result, Stat, fstat, open_beneath, openat};
use std::path::Path;

/// What a path beneath a directory leads to, without following a link.
pub(crate) fn lstat_beneath(dir: BorrowedFd<'_>, path: &Path) -> Result<Stat> {
    fstat(open_beneath(dir, path, O_PATH)?)
}

/// What a path leads to.
pub(crate) fn stat_path(path: &Path) -> Result<Stat> {
    fstat(openat(CWD, path, O_PATH | OFlags::CLOEXEC, Mode::empty())?)
}
