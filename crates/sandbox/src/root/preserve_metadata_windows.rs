//! Windows: preserves the access list of a file that is replaced.
//!
//! Invariant: a file whose access list cannot be preserved is not replaced.

use super::metadata::FileMeta;
use super::openat2_resolver::OPEN_READ;
use super::walk_resolver::DirEntryRef;
use super::write_context::WriteContext;
use crate::os_file::{AsFd, Errno, Mode, OFlags, OwnedFd, Result, openat};
use picoclaw_sys::windows::{access_list, set_access_list};

/// The metadata of the old file: its access list, if it could be read.
#[derive(Debug)]
pub(super) struct PreservedMetadata(Option<String>);

impl PreservedMetadata {
    /// Of a file by its directory entry.
    pub(super) fn of_entry(_old: &FileMeta, entry: &DirEntryRef) -> Self {
        let file = openat(&entry.dir, &entry.name, OPEN_READ | OFlags::NOFOLLOW, Mode::empty());
        Self(file.ok().and_then(|file| access_list(file.as_fd()).ok()))
    }

    /// Of an open file.
    pub(super) fn of_file(_old: &FileMeta, file: &OwnedFd) -> Self {
        Self(access_list(file.as_fd()).ok())
    }

    /// Applies it to a file that was just made in the same directory.
    pub(super) fn apply(&self, file: &OwnedFd, _dir: &FileMeta, _context: &WriteContext) -> Result<()> {
        let old = self.0.as_ref().ok_or(Errno::ACCESS)?;
        if access_list(file.as_fd())? != *old {
            set_access_list(file.as_fd(), old)?;
        }
        Ok(())
    }
}
