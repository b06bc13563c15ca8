//! Naming the entries of a directory, a page at a time.
//!
//! Invariant: the memory follows the page, not the directory; only the page's own entries and those before it are
//! kept, and links are named, never followed.

use super::facts::Facts;
use picoclaw_policy::FileKind;
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, statat};
use rustix::io::Result;
use std::collections::BinaryHeap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// Entries that one page and those before it may have together.
pub(super) const WINDOW: usize = 100_000;

/// Entries that a directory may have to be listed at all.
pub(super) const ENTRIES: usize = 2_000_000;

/// Which part of a listing is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Entries that are left out at the beginning.
    pub offset: usize,
    /// The most entries that are returned.
    pub limit: usize,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, any bytes but NUL and slash.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is, without following it: where a link leads is not told by naming it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// An ordinary file.
    File,
    /// A symbolic link, to whatever.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// A part of a directory's entries, in the order of their names' bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The entries of the page.
    pub entries: Vec<Entry>,
    /// How many entries the directory has.
    pub total: usize,
}

/// What a listing came to.
pub(super) enum Listed {
    Page(Listing),
    TooMany,
}

/// Lists a directory that is open for reading, from its beginning.
pub(super) fn list(dir: OwnedFd, page: Page) -> Result<Listed> {
    let window = page.offset.saturating_add(page.limit);
    if window > WINDOW {
        return Ok(Listed::TooMany);
    }
    let mut dir = Dir::new(dir)?;
    // The greatest of the first names is on top, and gives way to any smaller one.
    let mut first: BinaryHeap<Entry> = BinaryHeap::new();
    let mut total = 0;
    while let Some(entry) = dir.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        total += 1;
        if total > ENTRIES {
            return Ok(Listed::TooMany);
        }
        if first.len() < window || first.peek().is_some_and(|last| name < last.name.as_os_str()) {
            let Some(kind) = kind(&dir, &entry)? else {
                total -= 1;
                continue;
            };
            first.push(Entry { name: name.to_owned(), kind });
            if first.len() > window {
                first.pop();
            }
        }
    }
    let entries = first.into_sorted_vec().split_off(page.offset.min(total).min(window));
    Ok(Listed::Page(Listing { entries, total }))
}

/// The kind of an entry; `None` when it is gone again.
fn kind(dir: &Dir, entry: &DirEntry) -> Result<Option<EntryKind>> {
    Ok(Some(match entry.file_type() {
        FileType::Directory => EntryKind::Directory,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        // Some file systems do not say what they name.
        FileType::Unknown => match statat(dir.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => kind_of(&stat.into()),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        },
        _ => EntryKind::Special,
    }))
}

fn kind_of(facts: &Facts) -> EntryKind {
    match facts.kind() {
        FileKind::Directory => EntryKind::Directory,
        FileKind::Regular => EntryKind::File,
        FileKind::Special | FileKind::Missing if facts.is_link() => EntryKind::Link,
        FileKind::Special | FileKind::Missing => EntryKind::Special,
    }
}
