//! Linux: what other Unix systems have not.

pub use rustix::fs::{RawDir, RawDirEntry, ResolveFlags, copy_file_range, fsync, openat2};

use super::unix::{AtFlags, BorrowedFd, CWD, Errno, Mode, OFlags, OwnedFd, Result, Stat, openat, read};
use rustix::fs::{PROC_SUPER_MAGIC, StatxAttributes, StatxFlags, fstatfs, statx};
use std::os::fd::AsRawFd;

/// Opens a name to look at it, whatever it is, and nothing more.
pub const O_PATH: OFlags = OFlags::PATH;

/// Device and inode: one object, whatever its name.
pub fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Opens what a descriptor leads to once more, through procfs.
pub(crate) fn open_by_proc(object: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd> {
    openat(CWD, format!("/proc/self/fd/{}", object.as_raw_fd()), flags, Mode::empty())
}

/// The kernel's boot id, as it is written in procfs.
pub(crate) fn read_boot_id() -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, c"/proc/sys/kernel/random/boot_id", flags, Mode::empty()).ok()?;
    let mut text = vec![0; 36];
    let length = read(&file, &mut text).ok()?;
    text.truncate(length);
    Some(text)
}

/// Random bytes for a secret.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Whether an object lies on a procfs.
pub(crate) fn is_on_procfs(object: BorrowedFd<'_>) -> Result<bool> {
    Ok(fstatfs(object)?.f_type == PROC_SUPER_MAGIC)
}

/// Whether something is mounted here. Kernels before 5.8 do not report it.
pub(crate) fn is_mount_root(object: BorrowedFd<'_>) -> bool {
    statx(object, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
