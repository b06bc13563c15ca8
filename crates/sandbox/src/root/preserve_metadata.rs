//! Preserves mode, owner, ACL and user attributes of a file that is replaced (W56). Set-id bits are
//! dropped.
//!
//! Invariant: what cannot be preserved leaves the new file with fewer permissions, never more.

use super::metadata::FileMeta;
use super::walk_resolver::DirEntryRef;
use super::write_context::WriteContext;
use crate::os_file::{Errno, Mode, OwnedFd, Result, fchmod};
use rustix::fs::{Gid, Uid, XattrFlags, fchown, fgetxattr, flistxattr, fsetxattr, lgetxattr, llistxattr};
use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The extended attribute of a POSIX ACL.
const ACL: &CStr = c"system.posix_acl_access";

/// The longest ACL that is preserved.
const MAX_ACL_BYTES: usize = 8 << 10;

/// The longest list of attribute names, of which the user's are preserved.
const MAX_NAMES_BYTES: usize = 4 << 10;

/// The longest value of an attribute; the kernel allows no longer ones.
const MAX_VALUE_BYTES: usize = 64 << 10;

/// The metadata of the old file.
#[derive(Debug)]
pub(super) struct PreservedMetadata {
    old: FileMeta,
    acl: Acl,
    attributes: Vec<(CString, Vec<u8>)>,
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
        let mut path = format!("/proc/self/fd/{}/", entry.dir.as_raw_fd()).into_bytes();
        path.extend_from_slice(entry.name.as_bytes());
        let path = Path::new(std::ffi::OsStr::from_bytes(&path));
        let read = |name: &CStr, value: &mut [u8]| lgetxattr(path, name, value);
        let list = |names: &mut [u8]| llistxattr(path, names);
        Self { old: *old, acl: read_acl(old, read), attributes: user_attributes(list, read) }
    }

    /// Of an open file.
    pub(super) fn of_file(old: &FileMeta, file: &OwnedFd) -> Self {
        let read = |name: &CStr, value: &mut [u8]| fgetxattr(file, name, value);
        let list = |names: &mut [u8]| flistxattr(file, names);
        Self { old: *old, acl: read_acl(old, read), attributes: user_attributes(list, read) }
    }

    /// Applies it to a file that was just made in `dir`.
    pub(super) fn apply(&self, file: &OwnedFd, dir: &FileMeta, context: &WriteContext) -> Result<()> {
        for (name, value) in &self.attributes {
            // They say nothing about permissions, and the file system may have no room for them.
            let _ = fsetxattr(file, name.as_c_str(), value, XattrFlags::empty());
        }
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

/// Whether new files take the directory's group (set-gid).
fn passes_group_on(dir: &FileMeta) -> bool {
    dir.mode() & 0o2000 != 0
}

/// The ACL, if there can be one: its mask shows in the group bits.
fn read_acl(old: &FileMeta, read: impl Fn(&CStr, &mut [u8]) -> Result<usize>) -> Acl {
    if old.mode() & 0o070 == 0 {
        return Acl::Absent;
    }
    let mut value = [0; MAX_ACL_BYTES];
    match read(ACL, &mut value) {
        Ok(length) => Acl::Present(value[..length.min(MAX_ACL_BYTES)].to_vec()),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => Acl::Absent,
        Err(_) => Acl::Unknown,
    }
}

/// The attributes `user.*` with their values; those that cannot be read are left out.
fn user_attributes(
    list: impl Fn(&mut [u8]) -> Result<usize>,
    read: impl Fn(&CStr, &mut [u8]) -> Result<usize>,
) -> Vec<(CString, Vec<u8>)> {
    let mut names = [0; MAX_NAMES_BYTES];
    let Ok(length @ 1..) = list(&mut names) else { return Vec::new() };
    let mut value = vec![0; MAX_VALUE_BYTES];
    let of_user =
        names.get(..length).unwrap_or(&[]).split(|byte| *byte == 0).filter(|name| name.starts_with(b"user."));
    let attributes = of_user.filter_map(|name| {
        let name = CString::new(name).ok()?;
        let length = read(&name, &mut value).ok()?;
        Some((name, value.get(..length)?.to_vec()))
    });
    attributes.collect()
}
