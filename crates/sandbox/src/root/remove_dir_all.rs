//! Removes a directory with everything in it, whatever a child has made of it.
//!
//! Invariant: no symbolic link is followed, and nothing outside the directory is touched.

use crate::os_file::{
    Arg, AsFd, AtFlags, BorrowedFd, Dir, Errno, FileType, Mode, OFlags, OwnedFd, RawMode, Result, chmodat,
    fstat, openat, renameat, statat, unlinkat,
};
use std::ffi::{CStr, CString, OsStr};

/// How deep directories are entered one in another; deeper ones are moved up first, so that neither
/// descriptors nor stack run out.
const MAX_DEPTH: usize = 32;

const OPEN_DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes the directory `name` in `parent`, in which no child runs; the bytes that it took on the
/// disk. `Ok(0)` if there is none.
pub(crate) fn remove_dir_all(parent: impl AsFd, name: &OsStr) -> Result<u64> {
    let parent = parent.as_fd();
    let top = match open_dir(parent, name) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(0),
        Err(errno) => return Err(errno),
    };
    let mut remover = Remover { top: top.as_fd(), moved: 0, bytes: 0 };
    // What was moved up waits there, so the directory is read until it is empty.
    while remover.empty(top.as_fd(), 0)? {}
    unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    Ok(remover.bytes + disk_bytes(&fstat(&top)?))
}

/// The bytes that a directory and everything in it takes on the disk, as far as it can be read.
pub(crate) fn dir_bytes(parent: impl AsFd, name: &OsStr) -> u64 {
    openat(parent.as_fd(), name, OPEN_DIR, Mode::empty()).map_or(0, |dir| bytes_in(dir.as_fd(), 0))
}

struct Remover<'t> {
    top: BorrowedFd<'t>,
    moved: u64,
    bytes: u64,
}

impl Remover<'_> {
    /// Removes what is in `dir`; whether anything was.
    fn empty(&mut self, dir: BorrowedFd<'_>, depth: usize) -> Result<bool> {
        let names = entries(dir)?;
        for name in &names {
            let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            };
            let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if is_directory {
                // Moving a directory takes its owner's rights to it, like reading it.
                let below = open_dir(dir, name)?;
                if depth >= MAX_DEPTH {
                    self.move_up(dir, name)?;
                    continue;
                }
                self.empty(below.as_fd(), depth + 1)?;
            }
            let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            match unlinkat(dir, name, flags) {
                Ok(()) => self.bytes += disk_bytes(&stat),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(!names.is_empty())
    }

    /// Moves a directory to the top, under a name that nothing has there.
    fn move_up(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<()> {
        loop {
            self.moved += 1;
            match renameat(dir, name, self.top, format!(".removing-{}", self.moved)) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                moved => return moved,
            }
        }
    }
}

/// Opens a directory, with its owner's rights if a child took them away.
fn open_dir(parent: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd> {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if is_directory && stat.st_mode & RawMode::from(Mode::RWXU) != RawMode::from(Mode::RWXU) {
        chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
    }
    openat(parent, name, OPEN_DIR, Mode::empty())
}

fn entries(dir: BorrowedFd<'_>) -> Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

fn bytes_in(dir: BorrowedFd<'_>, depth: usize) -> u64 {
    let mut bytes = fstat(dir).map_or(0, |stat| disk_bytes(&stat));
    for name in entries(dir).unwrap_or_default() {
        let Ok(stat) = statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            bytes += disk_bytes(&stat);
        } else if let Ok(below) = openat(dir, &name, OPEN_DIR, Mode::empty())
            && depth < MAX_DEPTH
        {
            bytes += bytes_in(below.as_fd(), depth + 1);
        }
    }
    bytes
}

fn disk_bytes(stat: &crate::os_file::Stat) -> u64 {
    // st_blocks counts 512 bytes each, whatever the file system's block size.
    u64::try_from(stat.st_blocks).unwrap_or_default() * 512
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files by path")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkdirat};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_tree_is_removed_whatever_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        fs::create_dir_all(tree.join("closed/inner")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        symlink(&outside, tree.join("link")).unwrap();
        symlink(&outside, tree.join("closed/link")).unwrap();
        fs::write(tree.join("closed/inner/file"), vec![1; 100_000]).unwrap();
        fs::set_permissions(tree.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        // Deeper than a path can name; one of those that are moved up is closed.
        let mut at = rustix::fs::open(&tree, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let mut above = Vec::new();
        for _ in 0..600 {
            mkdirat(&at, "deep-and-deeper", Mode::RWXU).unwrap();
            let below =
                openat(&at, "deep-and-deeper", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
            above.push(std::mem::replace(&mut at, below));
        }
        chmodat(&above[MAX_DEPTH], "deep-and-deeper", Mode::RUSR | Mode::XUSR, AtFlags::empty()).unwrap();
        fs::create_dir_all(tree.join(".removing-1/full")).unwrap();
        let parent = openat(CWD, dir.path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        assert!(dir_bytes(&parent, OsStr::new("tree")) > 0);
        let freed = remove_dir_all(&parent, OsStr::new("tree")).unwrap();
        assert!(freed >= 100_000, "{freed}");
        assert!(!tree.exists());
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
        assert_eq!(remove_dir_all(&parent, OsStr::new("tree")), Ok(0), "there is nothing any more");
        symlink(&outside, &tree).unwrap();
        assert!(remove_dir_all(&parent, OsStr::new("tree")).is_err(), "a link is not followed");
        assert!(outside.join("kept").exists());
    }
}
