//! Landlock: rules that the kernel keeps for a process and everything it starts.
//!
//! Invariant: a ruleset only ever takes rights away.

use crate::linux::raw::{Errno, call, close};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Rights over files, as the kernel numbers them.
pub mod access {
    /// Execute a file.
    pub const EXECUTE: u64 = 1;
    /// Write to a file.
    pub const WRITE_FILE: u64 = 1 << 1;
    /// Read a file.
    pub const READ_FILE: u64 = 1 << 2;
    /// List a directory.
    pub const READ_DIR: u64 = 1 << 3;
    /// Remove, make and link whatever there is: bits 4 to 13.
    pub const CHANGE_DIR: u64 = 0x3ff0;
    /// Link and rename between directories.
    pub const REFER: u64 = 1 << 13;
    /// Cut a file short.
    pub const TRUNCATE: u64 = 1 << 14;
    /// Device commands.
    pub const IOCTL_DEV: u64 = 1 << 15;
    /// What a file, as opposed to a directory, can be given.
    pub const OF_A_FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    /// Everything that changes something.
    pub const WRITES: u64 = WRITE_FILE | CHANGE_DIR | TRUNCATE;
    /// Everything that only looks.
    pub const READS: u64 = EXECUTE | READ_FILE | READ_DIR;
}

/// No connection to abstract sockets of processes outside.
pub const SCOPE_ABSTRACT_SOCKETS: u64 = 1;
/// No signals to processes outside.
pub const SCOPE_SIGNALS: u64 = 2;

#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The newest Landlock interface this kernel has; `None` when it has none or it is switched off.
pub fn abi() -> Option<u32> {
    // SAFETY: with a null structure of length zero and this flag, the call only returns a number.
    let version = unsafe { call!(libc::SYS_landlock_create_ruleset, 0, 0, 1) };
    version.ok().and_then(|version| u32::try_from(version).ok()).filter(|version| *version > 0)
}

/// Of `rights`, those that this version of the interface knows.
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

/// A set of rules under construction, or complete.
#[derive(Debug)]
pub struct Ruleset {
    fd: OwnedFd,
    /// What it takes away.
    files: u64,
}

impl Ruleset {
    /// Takes these rights away wherever no rule gives them back, and scopes what is named.
    pub fn new(abi: u32, files: u64, scoped: u64) -> io::Result<Self> {
        let files = known_rights(abi, files);
        let attributes = RulesetAttributes { files, network: 0, scoped };
        // Older kernels refuse a longer structure than they know.
        let length = match abi {
            ..=3 => 8,
            4 | 5 => 16,
            _ => 24,
        };
        // SAFETY: a live structure at least as long as the length that is passed with it.
        let fd = unsafe { call!(libc::SYS_landlock_create_ruleset, &raw const attributes, length, 0) };
        let fd = fd.map_err(io::Error::from_raw_os_error)?;
        // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, files })
    }

    /// Gives rights back beneath the file or directory behind `place`; of those that were never taken there is nothing to give.
    pub fn allow(&self, place: impl AsFd, rights: u64) -> io::Result<()> {
        match rights & self.files {
            0 => Ok(()),
            rights => {
                add(self.number(), place.as_fd().as_raw_fd(), rights).map_err(io::Error::from_raw_os_error)
            }
        }
    }

    /// Its number, for a script that must not outlive it.
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

/// Gives rights back at a path, from within the process that will be restricted.
pub(crate) fn allow_at(ruleset: i32, path: &CStr, rights: u64) -> Result<(), Errno> {
    // SAFETY: a live path and integers.
    let place =
        unsafe { call!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC)? }
            as i32;
    let added = add(ruleset, place, rights);
    close(place);
    added
}

/// Puts the calling process under the rules, for good.
pub(crate) fn restrict(ruleset: i32) -> Result<(), Errno> {
    // SAFETY: integers only.
    unsafe { call!(libc::SYS_landlock_restrict_self, ruleset, 0)? };
    Ok(())
}

fn add(ruleset: i32, place: i32, allowed: u64) -> Result<(), Errno> {
    let rule = PathBeneath { allowed, parent: place };
    // SAFETY: a live structure of the layout that rule type 1 has.
    unsafe { call!(libc::SYS_landlock_add_rule, ruleset, 1, &raw const rule, 0)? };
    Ok(())
}
