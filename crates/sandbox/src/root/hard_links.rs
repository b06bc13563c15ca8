//! Looks for one file in the Protected trees, under whatever name it has there.
//!
//! Invariant: links are not followed, and the work is bounded; beyond the bound the answer is "undecided".

use super::facts::{Facts, Identity};
use picoclaw_policy::{CleanPath, FileKind};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Directory entries that one search looks at; a fifth of a second or so.
const ENTRIES: usize = 200_000;

/// Directories inside directories that one search enters.
const DEPTH: usize = 128;

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scan {
    /// The file is there.
    Present,
    /// It is not.
    Absent,
    /// There was more to look at than the bound allows, or part of it could not be seen.
    Undecided,
}

/// Looks for `wanted` in every tree, leaving out what `open` names.
pub(super) fn look_for(wanted: Identity, trees: &[CleanPath], open: &dyn Fn(&Facts) -> bool) -> Scan {
    let mut search = Search { wanted, open, left: ENTRIES, unseen: false };
    for tree in trees {
        if search.enter(CWD, tree.as_path(), DEPTH) == Scan::Present {
            return Scan::Present;
        }
    }
    if search.unseen { Scan::Undecided } else { Scan::Absent }
}

struct Search<'a> {
    wanted: Identity,
    open: &'a dyn Fn(&Facts) -> bool,
    left: usize,
    unseen: bool,
}

impl Search<'_> {
    fn enter(&mut self, dir: impl rustix::fd::AsFd, name: &Path, depth: usize) -> Scan {
        let facts: Facts = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat.into(),
            // What has no name here cannot be the other name of anything.
            Err(Errno::NOENT | Errno::NOTDIR) => return Scan::Absent,
            Err(_) => return self.gave_up(),
        };
        if facts.id() == self.wanted && !(self.open)(&facts) {
            return Scan::Present;
        }
        if facts.kind() != FileKind::Directory || (self.open)(&facts) {
            return Scan::Absent;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&dir, name, flags, Mode::empty()) {
            Ok(inner) if depth > 0 => self.look_through(inner, depth - 1),
            Err(Errno::NOENT) => Scan::Absent,
            _ => self.gave_up(),
        }
    }

    fn look_through(&mut self, dir: OwnedFd, depth: usize) -> Scan {
        let Ok(mut entries) = Dir::new(dir) else { return self.gave_up() };
        let mut names = Vec::new();
        while let Some(entry) = entries.read() {
            let Ok(entry) = entry else { return self.gave_up() };
            if self.left == 0 {
                return self.gave_up();
            }
            self.left -= 1;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(entry.file_name().to_owned());
            }
        }
        let Ok(dir) = entries.fd() else { return self.gave_up() };
        for name in names {
            if self.enter(dir, Path::new(OsStr::from_bytes(name.to_bytes())), depth) == Scan::Present {
                return Scan::Present;
            }
        }
        Scan::Absent
    }

    fn gave_up(&mut self) -> Scan {
        self.unseen = true;
        Scan::Undecided
    }
}
