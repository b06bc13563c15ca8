//! Linux: what other Unix systems have not.

pub use rustix::fs::{RawDir, RawDirEntry, ResolveFlags, copy_file_range, fsync, openat2};

use super::unix::{
    AsFd, AtFlags, BorrowedFd, CWD, Errno, Mode, OFlags, OwnedFd, Result, Stat, chmodat, fstat, open_parent,
    openat, read,
};
use rustix::fs::{PROC_SUPER_MAGIC, StatxAttributes, StatxFlags, fstatfs, statx};
use std::os::fd::AsRawFd;
use std::path::Path;

/// Opens a name to look at it, whatever it is, and nothing more.
pub const O_PATH: OFlags = OFlags::PATH;

/// Device and inode: one object, whatever its name.
pub fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Opens a path beneath a directory without following a link.
pub(crate) fn open_beneath(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let how = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(dir, path, how, Mode::empty(), resolve) {
        // Kernels before 5.6 lack it; systemd and container runtimes have filters that refuse it.
        Err(Errno::NOSYS | Errno::PERM) => walk_beneath(dir, path, flags),
        opened => opened,
    }
}

/// The same without openat2(2), one component after the other.
fn walk_beneath(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let (above, last) = open_parent(dir, path)?;
    openat(&above, last, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Opens what a descriptor leads to once more, through procfs.
pub(crate) fn open_by_proc(object: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd> {
    openat(CWD, format!("/proc/self/fd/{}", object.as_raw_fd()), flags, Mode::empty())
}

/// Gives the owner of a directory all rights on it, without following a link.
pub(crate) fn open_to_owner(above: impl AsFd, name: &Path) -> Result<()> {
    let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(above, name, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return Ok(());
    }
    // fchmod(2) refuses a descriptor that only names an object.
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    chmodat(CWD, path, mode | Mode::RWXU, AtFlags::empty())
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

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test builds its tree by path")]

    use super::*;
    use crate::os_file::{AsFd, fstat};

    /// With and without openat2(2), a path leads to the same object or fails alike.
    #[test]
    fn a_walk_finds_what_openat2_finds() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("a/b")).unwrap();
        std::fs::write(tree.path().join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink("b", tree.path().join("a/link")).unwrap();
        let root = openat(CWD, tree.path(), O_PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        for path in [".", "a", "a/b", "a/b/file", "a/link", "a/none", "a/link/file", "a/b/file/x"] {
            for flags in [O_PATH, O_PATH | OFlags::DIRECTORY, OFlags::RDONLY | OFlags::DIRECTORY] {
                let found = |opened: Result<OwnedFd>| opened.and_then(fstat).map(|stat| identity(&stat));
                let by_walk = found(walk_beneath(root.as_fd(), Path::new(path), flags));
                let by_kernel = found(open_beneath(root.as_fd(), Path::new(path), flags));
                assert_eq!(by_walk.ok(), by_kernel.ok(), "`{path}` {flags:?}: {by_walk:?} {by_kernel:?}");
            }
        }
    }
}
