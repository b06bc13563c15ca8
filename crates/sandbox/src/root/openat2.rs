//! The kernel's own resolver, for plain paths: one call, no links, no mounts, no way up.
//!
//! It answers only where its answer needs no explaining. Anything else is an error here, and the walking resolver
//! finds out what it was.
//!
//! Invariant: what is opened lies beneath the handle, on its mount, and no link was crossed.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, Result};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// Flags of an open that only looks: it does not wait for a FIFO's writer or a lease, and takes no terminal.
pub(super) const LOOK: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// How often a look-up that raced a rename is begun again.
const TRIES: usize = 8;

/// Opens `path` beneath `dir` without crossing a link or a mount.
pub(super) fn open_beneath(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_XDEV;
    for _ in 1..TRIES {
        match openat2(dir, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            settled => return settled,
        }
    }
    openat2(dir, path, flags, Mode::empty(), resolve)
}
