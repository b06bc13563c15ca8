//! Unix: the calls themselves.

pub use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, RenameFlags, Stat, Timespec, Timestamps, UTIME_NOW,
    chmodat, fchmod, fstat, futimens, linkat, mkdirat, openat, renameat, renameat_with, statat, unlinkat,
};
pub use rustix::io::{Errno, Result, read, write};
pub use rustix::path::Arg;
pub use std::os::fd::{AsFd as AsDir, AsFd, BorrowedFd, OwnedFd};
pub use std::os::unix::fs::FileExt;

use super::{O_PATH, Sharing};
use rustix::buffer::spare_capacity;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path};

/// Opens the directory above a path beneath `dir`, one component after the other without following
/// a link, and returns it with the last name.
pub(super) fn open_parent<'p>(dir: BorrowedFd<'_>, path: &'p Path) -> Result<(OwnedFd, &'p OsStr)> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return Err(Errno::XDEV),
        }
    }
    let last = names.pop().unwrap_or(OsStr::new("."));
    let above = dir.try_clone_to_owned();
    let mut above = above.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    for name in names {
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        above = openat(&above, name, flags, Mode::empty())?;
    }
    Ok((above, last))
}

/// Reads at an offset into the room that `bytes` has left; the number of bytes.
pub(crate) fn pread_spare(file: BorrowedFd<'_>, bytes: &mut Vec<u8>, offset: u64) -> Result<usize> {
    rustix::io::pread(file, spare_capacity(bytes), offset)
}

/// Locks an open file description, if that is possible now.
pub(crate) fn try_lock(file: &File, sharing: Sharing) -> std::result::Result<(), TryLockError> {
    match sharing {
        Sharing::Shared => file.try_lock_shared(),
        Sharing::Exclusive => file.try_lock(),
    }
}

/// Locks an open file description.
pub(crate) fn lock(file: &File, sharing: Sharing) -> io::Result<()> {
    match sharing {
        Sharing::Shared => file.lock_shared(),
        Sharing::Exclusive => file.lock(),
    }
}

/// Unlocks an open file description.
pub(crate) fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

/// Removes everything behind `length`, also from a file that is open for appending.
pub(crate) fn truncate(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)
}

/// Makes a directory and those above it, for their owner alone.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether other users have any right to a file.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// Takes the rights to a file from all but its owner.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o600))
}

/// The target of a symbolic link, by a descriptor of the link itself.
pub(crate) fn read_link(link: BorrowedFd<'_>) -> Result<OsString> {
    let target = rustix::fs::readlinkat(link, c"", Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// The target of a symbolic link, by its name in a directory.
pub(crate) fn read_link_at(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OsString> {
    let target = rustix::fs::readlinkat(dir, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// A name as the system has it.
pub(crate) fn os_str(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// The user and the group that new files belong to.
pub(crate) fn owner_of_new_files() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}
