//! Preserves mode, owner and ACL of a file that is replaced (W56). Set-id bits are dropped.
//!
//! Invariant: what cannot be preserved leaves the new file with fewer permissions, never more.

use super::create_parents::passes_group_on;
use super::metadata::FileMeta;
use super::walk_resolver::DirEntryRef;
use super::write_context::WriteContext;
use rustix::fs::{Gid, Mode, Uid, XattrFlags, fchmod, fchown, fgetxattr, fsetxattr, lgetxattr};
use rustix::io::{Errno, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The extended attribute of a POSIX ACL.
const ACL: &str = "system.posix_acl_access";

/// The longest ACL that is preserved.
const MAX_ACL_BYTES: usize = 8 << 10;

/// The metadata of the old file.
#[derive(Debug)]
pub(super) struct PreservedMetadata {
    old: FileMeta,
    acl: Acl,
}

/// An ACL beyond the permission bits.
#[derive(Debug)]
enum Acl {
    Absent,
    Present(Vec<u8>),
    /// It could not be read.
    Unknown,
}

impl PreservedMetadata {
    /// Of a file by its directory entry.
    pub(super) fn of_entry(old: &FileMeta, entry: &DirEntryRef) -> Self {
        let read = |value: &mut [u8]| {
            let mut path = format!("/proc/self/fd/{}/", entry.dir.as_raw_fd()).into_bytes();
            path.extend_from_slice(entry.name.as_bytes());
            lgetxattr(Path::new(std::ffi::OsStr::from_bytes(&path)), ACL, value)
        };
        Self { old: *old, acl: read_acl(old, read) }
    }

    /// Of an open file.
    pub(super) fn of_file(old: &FileMeta, file: &OwnedFd) -> Self {
        Self { old: *old, acl: read_acl(old, |value| fgetxattr(file, ACL, value)) }
    }

    /// Applies it to a file that was just made in `dir`.
    pub(super) fn apply(&self, file: &OwnedFd, dir: &FileMeta, context: &WriteContext) -> Result<()> {
        let has_group = self.restore_owner(file, dir, context);
        let mut mode = self.old.mode() & 0o777;
        match &self.acl {
            Acl::Absent if has_group => {}
            // A different group gets the permissions of others.
            Acl::Absent => mode &= 0o707 | (mode & 0o007) << 3,
            Acl::Present(list) if has_group && fsetxattr(file, ACL, list, XattrFlags::empty()).is_ok() => {
                return Ok(());
            }
            // With an ACL the group bits are its mask, not the group's permissions.
            Acl::Present(_) | Acl::Unknown => mode &= 0o707,
        }
        if mode == 0o600 {
            return Ok(());
        }
        fchmod(file, Mode::from_raw_mode(mode))
    }

    /// Restores owner and group as far as permitted; returns whether the group is the old one.
    fn restore_owner(&self, file: &OwnedFd, dir: &FileMeta, context: &WriteContext) -> bool {
        let group = if passes_group_on(dir) { dir.gid() } else { context.gid };
        if (self.old.uid(), self.old.gid()) == (context.uid, group) {
            return true;
        }
        let (uid, gid) = (Uid::from_raw(self.old.uid()), Gid::from_raw(self.old.gid()));
        fchown(file, Some(uid), Some(gid)).or_else(|_| fchown(file, None, Some(gid))).is_ok()
    }
}

/// The ACL, if there can be one: its mask shows in the group bits.
fn read_acl(old: &FileMeta, read: impl Fn(&mut [u8]) -> Result<usize>) -> Acl {
    if old.mode() & 0o070 == 0 {
        return Acl::Absent;
    }
    let mut value = [0; MAX_ACL_BYTES];
    match read(&mut value) {
        Ok(length) => Acl::Present(value[..length.min(MAX_ACL_BYTES)].to_vec()),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => Acl::Absent,
        Err(_) => Acl::Unknown,
    }
}
