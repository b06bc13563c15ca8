//! The pieces of a new file tree, with the mount interface that works on handles.
//!
//! A source is opened by name in the child's own mount namespace, since a handle from the parent's belongs to another
//! one; its identity is compared with what the parent judged, so a swapped source is refused and not mounted.
//!
//! Invariant: nothing is attached before its attributes are set, and no symbolic link is followed beneath the new root.

use crate::linux::raw::{Errno, call, close};
use std::ffi::{CStr, CString, c_char, c_long};

/// What is fixed about a file whatever its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

/// Whose directories lie on the way to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// This script's own, in the yard or prepared for it: no link can be among them.
    Own,
    /// The host's, beneath the root to be: a link there is refused and not followed.
    Shown,
}

/// How much of a tree is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Without what is mounted beneath.
    This,
    /// With it.
    All,
}

/// A mount is read-only.
pub const READ_ONLY: u64 = 0x1;
/// Set-user-id programs gain nothing from it.
pub const NO_SUID: u64 = 0x2;
/// Devices cannot be opened on it.
pub const NO_DEVICES: u64 = 0x4;
/// Programs cannot be executed from it.
pub const NO_EXEC: u64 = 0x8;

const OPEN_TREE_CLONE: u32 = 1;
/// `open_tree_attr`, the same number on every architecture.
const OPEN_TREE_ATTR: c_long = 467;
const AT_RECURSIVE: u32 = 0x8000;
const MOVE_FROM_EMPTY: u32 = 0x4;
const MOVE_TO_EMPTY: u32 = 0x40;
const SET_STRING: u32 = 1;
const CREATE: u32 = 6;
const RESOLVE_NO_MAGICLINKS: u64 = 0x2;
const RESOLVE_NO_SYMLINKS: u64 = 0x4;
const RESOLVE_BENEATH: u64 = 0x8;

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

impl MountAttributes {
    /// These, and cut off from the host's mounts to come.
    fn private(set: u64) -> Self {
        Self { set, clear: 0, propagation: libc::MS_PRIVATE, user_namespace: 0 }
    }
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// A new file system of this type, detached.
pub(crate) fn filesystem(kind: &CStr, options: &[(CString, CString)], attributes: u64) -> Result<i32, Errno> {
    // SAFETY: all strings are NUL-terminated and alive; the rest are integers.
    unsafe {
        let context = call!(libc::SYS_fsopen, kind.as_ptr(), 1)?;
        for (name, value) in options {
            call!(libc::SYS_fsconfig, context, SET_STRING, name.as_ptr(), value.as_ptr(), 0)?;
        }
        call!(libc::SYS_fsconfig, context, CREATE, 0, 0, 0)?;
        let mount = call!(libc::SYS_fsmount, context, 1, attributes)?;
        close(context as i32);
        Ok(mount as i32)
    }
}

/// A detached copy of what is at `source`, private to us.
pub(crate) fn copy(
    at: i32,
    source: &CStr,
    attributes: u64,
    expected: Option<Identity>,
    depth: Depth,
) -> Result<i32, Errno> {
    let recursive = if depth == Depth::All { AT_RECURSIVE } else { 0 };
    let flags = OPEN_TREE_CLONE | recursive | libc::O_CLOEXEC as u32;
    let tree = match copy_at_once(at, source, attributes, flags) {
        Ok(tree) => tree,
        // A kernel before 6.15, or somebody who does not let us ask: then one after the other, which tells why if that fails too.
        Err(_) => {
            // SAFETY: a live NUL-terminated path, and integers.
            let tree = unsafe { call!(libc::SYS_open_tree, at, source.as_ptr(), flags)? } as i32;
            set_attributes(tree, attributes, recursive)?;
            tree
        }
    };
    match expected {
        Some(expected) if identity(tree)? != expected => Err(libc::ESTALE),
        _ => Ok(tree),
    }
}

/// The same in one call, for kernels that have it.
fn copy_at_once(at: i32, source: &CStr, attributes: u64, flags: u32) -> Result<i32, Errno> {
    let wanted = MountAttributes::private(attributes);
    // SAFETY: a live NUL-terminated path, a live structure of the size that is passed with it, and integers.
    let tree = unsafe {
        call!(OPEN_TREE_ATTR, at, source.as_ptr(), flags, &raw const wanted, size_of::<MountAttributes>())?
    };
    Ok(tree as i32)
}

/// Sets attributes on the mount behind `fd`, and cuts it off from the host's mounts to come.
pub(crate) fn set_attributes(fd: i32, attributes: u64, flags: u32) -> Result<(), Errno> {
    let wanted = MountAttributes::private(attributes);
    let flags = flags | libc::AT_EMPTY_PATH as u32;
    // SAFETY: a live structure of the size that is passed with it, and an empty path.
    unsafe {
        call!(
            libc::SYS_mount_setattr,
            fd,
            c"".as_ptr(),
            flags,
            &raw const wanted,
            size_of::<MountAttributes>()
        )?
    };
    Ok(())
}

/// Attaches a detached mount at `target` beneath `root`.
pub(crate) fn attach(mount: i32, root: i32, target: &CStr, ground: Ground) -> Result<(), Errno> {
    if ground == Ground::Own {
        // SAFETY: descriptors, an empty path and a live one.
        unsafe { call!(libc::SYS_move_mount, mount, c"".as_ptr(), root, target.as_ptr(), MOVE_FROM_EMPTY)? };
        close(mount);
        return Ok(());
    }
    let place = beneath(root, target, libc::O_PATH)?;
    // SAFETY: descriptors and empty paths.
    let moved = unsafe {
        call!(libc::SYS_move_mount, mount, c"".as_ptr(), place, c"".as_ptr(), MOVE_FROM_EMPTY | MOVE_TO_EMPTY)
    };
    close(place);
    close(mount);
    moved.map(drop)
}

/// Attaches a detached mount at a place of the host's tree, which keeps it open.
pub(crate) fn attach_at_host(mount: i32, target: &CStr) -> Result<(), Errno> {
    // SAFETY: a descriptor, an empty path and a live one.
    unsafe {
        call!(libc::SYS_move_mount, mount, c"".as_ptr(), libc::AT_FDCWD, target.as_ptr(), MOVE_FROM_EMPTY)?
    };
    Ok(())
}

/// Opens `path` beneath `root`; a symbolic link anywhere on the way is refused.
pub(crate) fn beneath(root: i32, path: &CStr, flags: i32) -> Result<i32, Errno> {
    let how = OpenHow {
        flags: (flags | libc::O_CLOEXEC) as u64,
        mode: 0,
        resolve: RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    // SAFETY: a live path and a live structure of the size that is passed with it.
    Ok(unsafe { call!(libc::SYS_openat2, root, path.as_ptr(), &raw const how, size_of::<OpenHow>())? } as i32)
}

/// Makes a directory beneath `root`, in a parent that is reached without links; one that is there already will do.
pub(crate) fn directory(root: i32, path: &CStr, mode: u32, ground: Ground) -> Result<(), Errno> {
    in_parent(root, path, ground, |parent, name| {
        // SAFETY: a live name and integers.
        unsafe { call!(libc::SYS_mkdirat, parent, name, mode) }
    })
}

/// Makes an empty file to mount on; one that is there already keeps its content.
pub(crate) fn mount_point(root: i32, path: &CStr, ground: Ground) -> Result<(), Errno> {
    in_parent(root, path, ground, |parent, name| {
        // SAFETY: a live name and integers.
        unsafe { call!(libc::SYS_mknodat, parent, name, libc::S_IFREG | 0o644, 0) }
    })
}

/// Makes something of this name in its parent directory; what is there already will do.
fn in_parent(
    root: i32,
    path: &CStr,
    ground: Ground,
    make: impl Fn(i32, *const c_char) -> Result<c_long, Errno>,
) -> Result<(), Errno> {
    let last = path.to_bytes().iter().rposition(|byte| *byte == b'/');
    let made = match last {
        Some(slash) if ground == Ground::Shown => {
            let mut parent = [0u8; libc::PATH_MAX as usize];
            let (before, after) = path.to_bytes_with_nul().split_at(slash);
            parent.get_mut(..slash).ok_or(libc::ENAMETOOLONG)?.copy_from_slice(before);
            let above = CStr::from_bytes_until_nul(&parent).map_err(|_| libc::ENAMETOOLONG)?;
            let directory = beneath(root, above, libc::O_PATH | libc::O_DIRECTORY)?;
            let made = make(directory, after.get(1..).unwrap_or(&[0]).as_ptr().cast());
            close(directory);
            made
        }
        _ => make(root, path.as_ptr()),
    };
    match made {
        Err(libc::EEXIST) => Ok(()),
        other => other.map(drop),
    }
}

/// Makes a file with this content on our own ground.
pub(crate) fn file(root: i32, path: &CStr, content: &[u8]) -> Result<(), Errno> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a live path and integers; the content is alive and its length is passed with it.
    unsafe {
        let fd = call!(libc::SYS_openat, root, path.as_ptr(), flags, 0o644)? as i32;
        let written = call!(libc::SYS_write, fd, content.as_ptr(), content.len());
        // Now: what is open for writing keeps the root from becoming read-only.
        close(fd);
        written.map(drop)
    }
}

/// Makes a symbolic link beneath `root`, whose parent is ours.
pub(crate) fn link(root: i32, to: &CStr, path: &CStr) -> Result<(), Errno> {
    // SAFETY: two live paths and a descriptor.
    unsafe { call!(libc::SYS_symlinkat, to.as_ptr(), root, path.as_ptr())? };
    Ok(())
}

/// Makes `root` the top of the tree and lets go of the old one.
pub(crate) fn pivot(root: i32) -> Result<(), Errno> {
    // SAFETY: static paths and integers; the working directory is the new root throughout.
    unsafe {
        call!(libc::SYS_fchdir, root)?;
        call!(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr())?;
        call!(libc::SYS_umount2, c".".as_ptr(), libc::MNT_DETACH)?;
        call!(libc::SYS_chdir, c"/".as_ptr())?;
    }
    Ok(())
}

/// Who `fd` is.
pub(crate) fn identity(fd: i32) -> Result<Identity, Errno> {
    // SAFETY: all zeroes is a valid stat, which the kernel then fills.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        call!(libc::SYS_newfstatat, fd, c"".as_ptr(), &raw mut stat, libc::AT_EMPTY_PATH)?;
        Ok(Identity { device: stat.st_dev, inode: stat.st_ino })
    }
}

/// Writes a small file by its path relative to `at`.
pub(crate) fn write(at: i32, path: &CStr, content: &[u8]) -> Result<(), Errno> {
    // SAFETY: a live path; the content is alive and its length is passed with it.
    unsafe {
        let fd = call!(libc::SYS_openat, at, path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC)? as i32;
        let written = call!(libc::SYS_write, fd, content.as_ptr(), content.len());
        close(fd);
        written.map(drop)
    }
}
