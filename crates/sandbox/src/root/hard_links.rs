//! Searches the Protected trees for an inode.
//!
//! Invariant: links are not followed, and the search is bounded; beyond the bound it is undecided.

use super::metadata::{DevIno, FileMeta};
use crate::os_file::{AsDir, AtFlags, CWD, Dir, Errno, Mode, OFlags, OwnedFd, openat, os_str, statat};
use picoclaw_policy::{CleanPath, FileKind};
use std::path::Path;

/// The most directory entries of one search, about a fifth of a second.
const MAX_ENTRIES: usize = 200_000;

/// The most nested directories of one search.
const MAX_DEPTH: usize = 128;

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scan {
    /// Found.
    Present,
    /// Not found.
    Absent,
    /// The bound was reached, or a directory could not be read.
    Undecided,
}

/// Searches every tree for `wanted`, leaving out the parts that are open.
pub(super) fn find_inode(wanted: DevIno, trees: &[CleanPath], is_open: &dyn Fn(&FileMeta) -> bool) -> Scan {
    let mut search = Search { wanted, is_open, left: MAX_ENTRIES, incomplete: false };
    for tree in trees {
        if search.enter(CWD, tree.as_path(), MAX_DEPTH) == Scan::Present {
            return Scan::Present;
        }
    }
    if search.incomplete { Scan::Undecided } else { Scan::Absent }
}

struct Search<'a> {
    wanted: DevIno,
    is_open: &'a dyn Fn(&FileMeta) -> bool,
    left: usize,
    incomplete: bool,
}

impl Search<'_> {
    fn enter(&mut self, dir: impl AsDir + Copy, name: &Path, depth: usize) -> Scan {
        let meta: FileMeta = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat.into(),
            Err(Errno::NOENT | Errno::NOTDIR) => return Scan::Absent,
            Err(_) => return self.give_up(),
        };
        if meta.id() == self.wanted && !(self.is_open)(&meta) {
            return Scan::Present;
        }
        if meta.kind() != FileKind::Directory || (self.is_open)(&meta) {
            return Scan::Absent;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(dir, name, flags, Mode::empty()) {
            Ok(inner) if depth > 0 => self.scan(inner, depth - 1),
            Err(Errno::NOENT) => Scan::Absent,
            _ => self.give_up(),
        }
    }

    fn scan(&mut self, dir: OwnedFd, depth: usize) -> Scan {
        let Ok(mut entries) = Dir::new(dir) else { return self.give_up() };
        let mut names = Vec::new();
        while let Some(entry) = entries.read() {
            let Ok(entry) = entry else { return self.give_up() };
            if self.left == 0 {
                return self.give_up();
            }
            self.left -= 1;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(entry.file_name().to_owned());
            }
        }
        let Ok(dir) = entries.fd() else { return self.give_up() };
        for name in names {
            if self.enter(dir, Path::new(os_str(name.to_bytes())), depth) == Scan::Present {
                return Scan::Present;
            }
        }
        Scan::Absent
    }

    fn give_up(&mut self) -> Scan {
        self.incomplete = true;
        Scan::Undecided
    }
}
