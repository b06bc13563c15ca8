//! macOS: preserves mode, owner, access list and attributes of a file that is replaced. Set-id bits
//! are dropped.
//!
//! Invariant: a file whose access list cannot be preserved is not replaced.

use super::metadata::FileMeta;
use super::openat2_resolver::OPEN_READ;
use super::walk_resolver::DirEntryRef;
use super::write_context::WriteContext;
use crate::os_file::{AsFd, Errno, Mode, OFlags, OwnedFd, RawMode, Result, fchmod, openat};
use picoclaw_sys::macos::{copy_access_list, copy_attributes};
use rustix::fs::{Gid, Uid, fchown};

/// The metadata of the old file, and the file itself, if it could be opened.
#[derive(Debug)]
pub(super) struct PreservedMetadata {
    old: FileMeta,
    file: Option<OwnedFd>,
}

impl PreservedMetadata {
    /// Of a file by its directory entry.
    pub(super) fn of_entry(old: &FileMeta, entry: &DirEntryRef) -> Self {
        let file = openat(&entry.dir, &entry.name, OPEN_READ | OFlags::NOFOLLOW, Mode::empty());
        Self { old: *old, file: file.ok() }
    }

    /// Of an open file.
    pub(super) fn of_file(old: &FileMeta, file: &OwnedFd) -> Self {
        Self { old: *old, file: file.try_clone().ok() }
    }

    /// Applies it to a file that was just made in a directory of the same group.
    pub(super) fn apply(&self, file: &OwnedFd, dir: &FileMeta, context: &WriteContext) -> Result<()> {
        let has_group = self.restore_owner(file, dir, context);
        let mode = self.old.mode() & 0o777;
        // A different group gets the permissions of others.
        let mode = if has_group { mode } else { mode & (0o707 | (mode & 0o007) << 3) };
        fchmod(file, Mode::from_raw_mode(RawMode::try_from(mode).unwrap_or_default()))?;
        let old = self.file.as_ref().ok_or(Errno::ACCESS)?;
        // They say nothing about permissions, and the file system may have no room for them.
        let _ = copy_attributes(old.as_fd(), file.as_fd());
        copy_access_list(old.as_fd(), file.as_fd())
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Restores owner and group as far as permitted; returns whether the group is the old one. A
    /// new file has its directory's.
    fn restore_owner(&self, file: &OwnedFd, dir: &FileMeta, context: &WriteContext) -> bool {
        if (self.old.uid(), self.old.gid()) == (context.uid, dir.gid()) {
            return true;
        }
        let (uid, gid) = (Uid::from_raw(self.old.uid()), Gid::from_raw(self.old.gid()));
        fchown(file, Some(uid), Some(gid)).or_else(|_| fchown(file, None, Some(gid))).is_ok()
    }
}
