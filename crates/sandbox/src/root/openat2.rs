//! The kernel's own resolver, for plain paths: one call, no links, no way up.
//!
//! It answers only where its answer needs no explaining. Anything else is an error here, and the walking resolver
//! finds out what it was.
//!
//! Invariant: what is opened lies beneath the handle, and no link was crossed on the way.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, Result};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// Flags of an open that only looks: it does not wait for a FIFO's writer or a lease, and takes no terminal.
pub(super) const LOOK: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// How often a look-up that raced a rename is begun again.
const TRIES: usize = 8;

/// No link, and no way up.
const STRAIGHT: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// Opens `path` beneath `dir` without crossing a link or a mount.
pub(super) fn open_beneath(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    settle(dir, path, flags, STRAIGHT | ResolveFlags::NO_XDEV)
}

/// A handle that only knows what is at `path` beneath `dir`, with mounts on the way but no link.
pub(super) fn glance_at(dir: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
    settle(dir, path, OFlags::PATH | OFlags::CLOEXEC, STRAIGHT)
}

fn settle(dir: BorrowedFd<'_>, path: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd> {
    for _ in 1..TRIES {
        match openat2(dir, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            settled => return settled,
        }
    }
    openat2(dir, path, flags, Mode::empty(), resolve)
}
