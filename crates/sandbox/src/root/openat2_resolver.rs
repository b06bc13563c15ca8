//! Resolves plain paths with openat2(2): one call, no links, no way up.
//!
//! Every other path is an error here; the walking resolver then finds out why.
//!
//! Invariant: what is opened lies beneath the descriptor, and no link was followed.

use crate::os_file::{BorrowedFd, Errno, Mode, OFlags, OwnedFd, ResolveFlags, Result, openat2};
use std::path::Path;

/// Opens for reading without waiting for a FIFO's writer or a lease, and without taking a terminal.
pub(super) const OPEN_READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// How often a lookup that raced a rename is tried.
const MAX_ATTEMPTS: usize = 8;

/// No link, and no way up.
const PLAIN: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// Opens `path` beneath `dir` without crossing a link or a mount.
pub(super) fn open_beneath(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    retry(dir, path, flags, PLAIN | ResolveFlags::NO_XDEV)
}

fn retry(dir: BorrowedFd<'_>, path: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd> {
    for _ in 1..MAX_ATTEMPTS {
        match openat2(dir, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
    openat2(dir, path, flags, Mode::empty(), resolve)
}
