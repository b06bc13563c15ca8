//! Landlock rulesets.

use crate::linux::raw_syscall::syscall;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Result;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Access rights to files, as the kernel numbers them.
pub mod access {
    /// Execute a file.
    pub const EXECUTE: u64 = 1;
    /// Write to a file.
    pub const WRITE_FILE: u64 = 1 << 1;
    /// Read a file.
    pub const READ_FILE: u64 = 1 << 2;
    /// List a directory.
    pub const READ_DIR: u64 = 1 << 3;
    /// Create, remove, link and rename entries of every type: bits 4 to 13.
    pub const CHANGE_DIR: u64 = 0x3ff0;
    /// Link and rename between directories.
    pub const REFER: u64 = 1 << 13;
    /// Truncate a file.
    pub const TRUNCATE: u64 = 1 << 14;
    /// Use `ioctl` on devices.
    pub const IOCTL_DEV: u64 = 1 << 15;
    /// The rights that apply to a file, as opposed to a directory.
    pub const OF_A_FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    /// The rights that change something.
    pub const WRITES: u64 = WRITE_FILE | CHANGE_DIR | TRUNCATE;
    /// The rights that change nothing.
    pub const READS: u64 = EXECUTE | READ_FILE | READ_DIR;
}

/// Deny connections to abstract sockets of processes outside the domain.
pub const SCOPE_ABSTRACT_SOCKETS: u64 = 1;
/// Deny signals to processes outside the domain.
pub const SCOPE_SIGNALS: u64 = 2;

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

#[repr(C)]
struct RulesetAttributes {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneathAttributes {
    allowed_access: u64,
    parent_fd: i32,
}

/// The Landlock ABI version of this kernel; `None` when it has none or Landlock is disabled.
pub fn abi() -> Option<u32> {
    // SAFETY: with this flag the call takes a null attribute of size zero and only returns a
    // number.
    let version = unsafe { syscall!(libc::SYS_landlock_create_ruleset, 0, 0, CREATE_RULESET_VERSION) };
    version.ok().and_then(|version| u32::try_from(version).ok()).filter(|version| *version > 0)
}

/// Those of `rights` that this ABI version knows.
pub fn known_rights(abi: u32, rights: u64) -> u64 {
    let known = match abi {
        0 => 0,
        1 => 0x1fff,
        2 => 0x3fff,
        3 | 4 => 0x7fff,
        _ => 0xffff,
    };
    rights & known
}

/// A ruleset.
#[derive(Debug)]
pub struct Ruleset {
    fd: OwnedFd,
    handled: u64,
}

impl Ruleset {
    /// A ruleset that denies the rights `files` wherever no rule allows them, with these scopes.
    pub fn new(abi: u32, files: u64, scoped: u64) -> io::Result<Self> {
        let handled = known_rights(abi, files);
        let attributes = RulesetAttributes { handled_access_fs: handled, handled_access_net: 0, scoped };
        // Older kernels refuse a longer structure than they know.
        let length = match abi {
            ..=3 => 8,
            4 | 5 => 16,
            _ => 24,
        };
        // SAFETY: a live structure at least as long as the length passed with it.
        let fd = unsafe { syscall!(libc::SYS_landlock_create_ruleset, &raw const attributes, length, 0) }?;
        // SAFETY: the call has just returned this descriptor, which has no other owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, handled })
    }

    /// Allows `rights` beneath the file or directory `place`; rights that the ruleset does not deny
    /// are left out.
    pub fn allow(&self, place: impl AsFd, rights: u64) -> io::Result<()> {
        match rights & self.handled {
            0 => Ok(()),
            rights => Ok(add_rule(self.number(), place, rights)?),
        }
    }

    /// The descriptor's number, for a [`ChildSpec`](crate::linux::ChildSpec).
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

/// Allows `rights` at a path, in the process that will be restricted.
pub(crate) fn allow_path(ruleset: i32, path: &CStr, rights: u64) -> Result<()> {
    add_rule(ruleset, openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?, rights)
}

/// Enforces the ruleset on the calling thread, which must have no_new_privs.
pub(crate) fn restrict_self(ruleset: i32) -> Result<()> {
    // SAFETY: integers only.
    unsafe { syscall!(libc::SYS_landlock_restrict_self, ruleset, 0) }.map(drop)
}

fn add_rule(ruleset: i32, place: impl AsFd, allowed_access: u64) -> Result<()> {
    let rule = PathBeneathAttributes { allowed_access, parent_fd: place.as_fd().as_raw_fd() };
    // SAFETY: a live structure of the layout of this rule type.
    unsafe { syscall!(libc::SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &raw const rule, 0) }.map(drop)
}
