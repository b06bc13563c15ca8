//! Building a root file system from detached mounts.
//!
//! The child opens a bind mount's source by name in its own mount namespace, since a descriptor of
//! the parent belongs to another one, and compares device and inode with those that the parent
//! checked: a source that was replaced is refused.
//!
//! Invariant: no mount is attached before its attributes are set, and no symbolic link beneath the
//! new root is followed.

use crate::linux::raw_syscall::syscall;
use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, mknodat, openat, openat2, symlinkat,
};
use rustix::io::{Errno, Result};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Device and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DevIno {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

/// Whose directories a path leads through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathOwner {
    /// The cage's, in its tmpfs: they contain only what earlier steps made.
    Cage,
    /// The host's, beneath the new root: symbolic links are refused.
    Host,
}

/// How much of a mount tree is cloned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Submounts {
    Without,
    With,
}

/// The mount is read-only.
pub const READ_ONLY: u64 = 0x1;
/// The mount ignores set-user-id bits.
pub const NO_SUID: u64 = 0x2;
/// Devices cannot be opened on the mount.
pub const NO_DEVICES: u64 = 0x4;
/// Programs cannot be executed from the mount.
pub const NO_EXEC: u64 = 0x8;

#[repr(C)]
struct MountAttributes {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Creates a file system of this type as a detached mount.
pub(crate) fn new_filesystem(
    kind: &CStr,
    options: &[(CString, CString)],
    attributes: u64,
) -> Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&context, name.as_c_str(), value.as_c_str())?;
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::from_bits_retain(attributes as u32);
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Creates an overlay as a detached mount: `lower`, which must be at `expected`, and two
/// directories of `tmpfs`.
pub(crate) fn overlay(
    lower: &CStr,
    expected: DevIno,
    tmpfs: BorrowedFd<'_>,
    (upper, work): (&CStr, &CStr),
) -> Result<OwnedFd> {
    let lower = open_path_without_links(lower)?;
    if dev_ino(&lower)? != expected {
        return Err(Errno::STALE);
    }
    let context = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // The kernel looks these paths up when they are given, from the working directory: of kernels
    // that would do so later, none has `lowerdir+`.
    rustix::process::fchdir(&lower)?;
    fsconfig_set_string(&context, c"lowerdir+", c".")?;
    rustix::process::fchdir(tmpfs)?;
    fsconfig_set_string(&context, c"upperdir", upper)?;
    fsconfig_set_string(&context, c"workdir", work)?;
    // Without privileges, its own attributes have names that every user may set.
    fsconfig_set_flag(&context, c"userxattr")?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::from_bits_retain((NO_SUID | NO_DEVICES) as u32);
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Clones the mount at `source` as a detached mount with these attributes, which must be at
/// `expected`.
pub(crate) fn clone_tree(
    directory: BorrowedFd<'_>,
    source: &CStr,
    attributes: u64,
    expected: Option<DevIno>,
    submounts: Submounts,
) -> Result<OwnedFd> {
    let recursive = match submounts {
        Submounts::Without => OpenTreeFlags::empty(),
        Submounts::With => OpenTreeFlags::AT_RECURSIVE,
    };
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(directory, source, clone | recursive)?;
    set_attributes(&tree, attributes, recursive)?;
    match expected {
        Some(expected) if dev_ino(&tree)? != expected => Err(Errno::STALE),
        _ => Ok(tree),
    }
}

/// Makes a mount without submounts read-only.
pub(crate) fn make_read_only(mount: &OwnedFd) -> Result<()> {
    set_attributes(mount, READ_ONLY, OpenTreeFlags::empty())
}

/// Sets attributes of a mount, and makes it private so that later mounts of the host do not
/// propagate to it.
fn set_attributes(mount: &OwnedFd, attributes: u64, recursive: OpenTreeFlags) -> Result<()> {
    let wanted =
        MountAttributes { attr_set: attributes, attr_clr: 0, propagation: libc::MS_PRIVATE, userns_fd: 0 };
    let flags = (recursive | OpenTreeFlags::AT_EMPTY_PATH).bits();
    // SAFETY: an empty path, and a live structure of the size passed with it.
    unsafe {
        syscall!(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const wanted,
            size_of::<MountAttributes>()
        )
    }
    .map(drop)
}

/// Attaches a detached mount at `target` beneath `root`.
pub(crate) fn attach(mount: OwnedFd, root: BorrowedFd<'_>, target: &CStr, owner: PathOwner) -> Result<()> {
    let from_fd = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    match owner {
        PathOwner::Cage => move_mount(&mount, c"", root, target, from_fd),
        PathOwner::Host => {
            let target = open_beneath(root, target, OFlags::PATH)?;
            move_mount(&mount, c"", &target, c"", from_fd | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)
        }
    }
}

/// Attaches a detached mount at a path of the host's tree and keeps its descriptor usable.
pub(crate) fn attach_at_host(mount: &OwnedFd, target: &CStr) -> Result<()> {
    move_mount(mount, c"", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Opens `path` beneath `root`; a symbolic link on the way is refused.
fn open_beneath(root: BorrowedFd<'_>, path: &CStr, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => walk_without_links(root, path),
        opened => opened,
    }
}

/// An `O_PATH` descriptor for an absolute path; a symbolic link on the way is refused with ELOOP.
pub fn open_path_without_links(path: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => {
            walk_without_links(openat(CWD, c"/", flags, Mode::empty())?.as_fd(), path)
        }
        opened => opened,
    }
}

/// The same without openat2(2), which older kernels lack and some seccomp profiles refuse: opens
/// one component after the other, and allocates nothing.
fn walk_without_links(root: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = openat(root, c".", flags, Mode::empty())?;
    for name in path.to_bytes().split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => continue,
            b".." => return Err(Errno::XDEV),
            _ => {}
        }
        let mut buffer = [0u8; 256];
        buffer
            .get_mut(..name.len())
            .filter(|place| place.len() < 256)
            .ok_or(Errno::NAMETOOLONG)?
            .copy_from_slice(name);
        let name = CStr::from_bytes_until_nul(&buffer).map_err(|_| Errno::NAMETOOLONG)?;
        here = openat(&here, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&here)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP);
        }
    }
    Ok(here)
}

/// Makes a directory; an existing one will do.
pub(crate) fn make_directory(root: BorrowedFd<'_>, path: &CStr, mode: u32, owner: PathOwner) -> Result<()> {
    in_parent(root, path, owner, |parent, name| mkdirat(parent, name, Mode::from_raw_mode(mode)))
}

/// Makes an empty file to mount on; an existing one will do.
pub(crate) fn make_mount_point(root: BorrowedFd<'_>, path: &CStr, owner: PathOwner) -> Result<()> {
    let mode = Mode::from_raw_mode(0o644);
    in_parent(root, path, owner, |parent, name| mknodat(parent, name, FileType::RegularFile, mode, 0))
}

/// Makes an entry in the parent directory of `path`, which is opened first where its directories
/// are the host's.
fn in_parent(
    root: BorrowedFd<'_>,
    path: &CStr,
    owner: PathOwner,
    make: impl Fn(BorrowedFd<'_>, &CStr) -> Result<()>,
) -> Result<()> {
    let bytes = path.to_bytes_with_nul();
    let slash = bytes.iter().rposition(|byte| *byte == b'/').filter(|_| owner == PathOwner::Host);
    let made = match slash {
        None => make(root, path),
        Some(slash) => {
            let (parent, name) = bytes.split_at(slash);
            let mut buffer = [0u8; libc::PATH_MAX as usize];
            buffer.get_mut(..slash).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(parent);
            let parent = CStr::from_bytes_until_nul(&buffer).map_err(|_| Errno::NAMETOOLONG)?;
            let name =
                CStr::from_bytes_with_nul(name.get(1..).unwrap_or_default()).map_err(|_| Errno::INVAL)?;
            make(open_beneath(root, parent, OFlags::PATH | OFlags::DIRECTORY)?.as_fd(), name)
        }
    };
    match made {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

/// Makes a file with this content in the cage's tmpfs.
pub(crate) fn make_file(scratch: BorrowedFd<'_>, path: &CStr, content: &[u8]) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(scratch, path, flags, Mode::from_raw_mode(0o644))?;
    write_whole(&file, content)
}

/// A write that is cut short has met a limit.
fn write_whole(file: impl AsFd, content: &[u8]) -> Result<()> {
    match rustix::io::write(file, content)? {
        written if written == content.len() => Ok(()),
        _ => Err(Errno::NOSPC),
    }
}

/// Makes a symbolic link in the cage's tmpfs.
pub(crate) fn make_symlink(scratch: BorrowedFd<'_>, to: &CStr, path: &CStr) -> Result<()> {
    symlinkat(to, scratch, path)
}

/// Makes `root` the root of the mount namespace and detaches the previous one.
pub(crate) fn pivot_root(root: BorrowedFd<'_>) -> Result<()> {
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

/// Device and inode of an open file.
pub(crate) fn dev_ino(file: impl AsFd) -> Result<DevIno> {
    let stat = fstat(file)?;
    Ok(DevIno { device: stat.st_dev, inode: stat.st_ino })
}

/// Writes to an existing file beneath `directory`.
pub(crate) fn write_file(directory: impl AsFd, path: &CStr, content: &[u8]) -> Result<()> {
    let file = openat(directory, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write_whole(&file, content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    /// The walk answers as openat2(2) does.
    #[test]
    fn a_walk_finds_what_openat2_finds() {
        let directory = std::env::temp_dir().join(format!("picoclaw-walk-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("a/b")).unwrap();
        std::fs::write(directory.join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink("a", directory.join("link")).unwrap();
        std::os::unix::fs::symlink("b/file", directory.join("a/last")).unwrap();
        let path = CString::new(directory.as_os_str().as_bytes()).unwrap();
        let root = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for path in [
            c"a",
            c"a/b",
            c"a//b/",
            c"a/b/file",
            c"./a",
            c"link/b",
            c"a/last",
            c"a/none",
            c"a/b/file/x",
            c"../a",
            c".",
        ] {
            let by_kernel = openat2(&root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve);
            let walked = walk_without_links(root.as_fd(), path).and_then(dev_ino);
            assert_eq!(walked, by_kernel.and_then(dev_ino), "{path:?}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}
