//! What a replaced file hands on: its permission bits, its owner and its access list (W56).
//!
//! Set-id bits are not handed on: new contents were not what somebody gave them to.
//!
//! Invariant: what cannot be handed on makes the new file narrower, never wider.

use super::facts::Facts;
use super::parents::gives_its_group;
use super::scribe::Scribe;
use super::walk::Spot;
use rustix::fs::{Gid, Mode, Uid, XattrFlags, fchmod, fchown, fgetxattr, fsetxattr, lgetxattr};
use rustix::io::{Errno, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where the kernel keeps an access list.
const ACL: &str = "system.posix_acl_access";

/// The longest access list that is carried over; a longer one is not a file's, but somebody's idea.
const ACL_BYTES: usize = 8 << 10;

/// What the old file had that the new one should have.
#[derive(Debug)]
pub(super) struct Keep {
    old: Facts,
    acl: AccessList,
}

/// An access list beyond the permission bits.
#[derive(Debug)]
enum AccessList {
    Absent,
    Present(Vec<u8>),
    /// There is one, and it could not be read.
    Unknown,
}

impl Keep {
    /// From the name of a file in a held directory.
    pub(super) fn of_name(old: &Facts, spot: &Spot) -> Self {
        let read = |value: &mut [u8]| {
            let mut path = format!("/proc/self/fd/{}/", spot.dir.as_raw_fd()).into_bytes();
            path.extend_from_slice(spot.name.as_bytes());
            lgetxattr(Path::new(std::ffi::OsStr::from_bytes(&path)), ACL, value)
        };
        Self { old: *old, acl: access_list(old, read) }
    }

    /// From a file that is open.
    pub(super) fn of_file(old: &Facts, file: &OwnedFd) -> Self {
        Self { old: *old, acl: access_list(old, |value| fgetxattr(file, ACL, value)) }
    }

    /// Hands it on to a file that was just made in `dir`.
    pub(super) fn apply(&self, file: &OwnedFd, dir: &Facts, scribe: &Scribe) -> Result<()> {
        let group_kept = self.hand_on_owner(file, dir, scribe);
        let mut mode = self.old.mode() & 0o777;
        match &self.acl {
            AccessList::Absent if group_kept => {}
            // Another group may do what everybody may.
            AccessList::Absent => mode &= 0o707 | (mode & 0o007) << 3,
            AccessList::Present(list)
                if group_kept && fsetxattr(file, ACL, list, XattrFlags::empty()).is_ok() =>
            {
                return Ok(());
            }
            // With an access list the group bits are its mask, not what the group may do.
            AccessList::Present(_) | AccessList::Unknown => mode &= 0o707,
        }
        if mode == 0o600 {
            return Ok(());
        }
        fchmod(file, Mode::from_raw_mode(mode))
    }

    /// Gives the new file its old owner and group where that may be done; whether it has its old group.
    fn hand_on_owner(&self, file: &OwnedFd, dir: &Facts, scribe: &Scribe) -> bool {
        let group = if gives_its_group(dir) { dir.gid() } else { scribe.gid };
        if (self.old.uid(), self.old.gid()) == (scribe.uid, group) {
            return true;
        }
        let (uid, gid) = (Uid::from_raw(self.old.uid()), Gid::from_raw(self.old.gid()));
        fchown(file, Some(uid), Some(gid)).or_else(|_| fchown(file, None, Some(gid))).is_ok()
    }
}

/// The access list, when there can be one: it shows in the group bits.
fn access_list(old: &Facts, read: impl Fn(&mut [u8]) -> Result<usize>) -> AccessList {
    if old.mode() & 0o070 == 0 {
        return AccessList::Absent;
    }
    // On the stack: hardly any file has a list, and an allocation of this size may cost two system calls.
    let mut value = [0; ACL_BYTES];
    match read(&mut value) {
        Ok(length) => AccessList::Present(value[..length.min(ACL_BYTES)].to_vec()),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => AccessList::Absent,
        Err(_) => AccessList::Unknown,
    }
}
