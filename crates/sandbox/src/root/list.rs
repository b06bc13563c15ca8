//! Reads one page of a directory's entries, sorted by name.
//!
//! Invariant: memory follows the page, not the directory; links are named and never followed.

use super::metadata::FileMeta;
use crate::os_file::{AtFlags, BorrowedFd, Errno, FileType, RawDir, RawDirEntry, Result, os_str, statat};
use picoclaw_policy::FileKind;
use std::collections::BinaryHeap;
use std::ffi::OsString;

/// The most entries that a page and everything before it may have together.
const MAX_WINDOW: usize = 100_000;

/// The most entries of a directory that can be listed at all.
pub(super) const MAX_ENTRIES: usize = 2_000_000;

/// The size of the buffer for getdents64(2).
const BUFFER_BYTES: usize = 32 << 10;

/// Which part of a listing is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Entries that are left out at the beginning.
    pub offset: usize,
    /// The most entries that are returned.
    pub limit: usize,
}

/// One entry of a directory, ordered by the bytes of its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, any bytes but NUL and slash.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// The type of an entry; a link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// One page of a directory's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The page's entries, sorted by name.
    pub entries: Vec<Entry>,
    /// How many entries the directory has.
    pub total: usize,
}

/// What reading a page led to.
pub(super) enum Listed {
    Page(Listing),
    TooMany,
}

/// Reads a page from a directory that is open at its beginning.
pub(super) fn read_page(dir: BorrowedFd<'_>, page: Page) -> Result<Listed> {
    let window = page.offset.saturating_add(page.limit);
    if window > MAX_WINDOW {
        return Ok(Listed::TooMany);
    }
    // The first `window` names so far, the last of them on top.
    let mut first = BinaryHeap::new();
    let mut total = 0;
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // The directory was removed, so it is empty.
            Err(Errno::NOENT) => break,
            Err(errno) => return Err(errno),
        };
        let name = os_str(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        total += 1;
        if total > MAX_ENTRIES {
            return Ok(Listed::TooMany);
        }
        let is_full = first.len() == window;
        if is_full && first.peek().is_none_or(|last: &Entry| last.name.as_os_str() <= name) {
            continue;
        }
        match kind_of(dir, &entry)? {
            Some(kind) => first.push(Entry { name: name.to_owned(), kind }),
            None => total -= 1,
        }
        if first.len() > window {
            first.pop();
        }
    }
    let mut entries = first.into_sorted_vec();
    entries.drain(..page.offset.min(entries.len()));
    Ok(Listed::Page(Listing { entries, total }))
}

/// The kind of an entry; `None` when it was removed meanwhile.
fn kind_of(dir: BorrowedFd<'_>, entry: &RawDirEntry<'_>) -> Result<Option<EntryKind>> {
    Ok(Some(match entry.file_type() {
        FileType::Directory => EntryKind::Directory,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        // Some file systems do not report types in getdents64(2).
        FileType::Unknown => match statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => kind_of_stat(&stat.into()),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        },
        _ => EntryKind::Special,
    }))
}

fn kind_of_stat(meta: &FileMeta) -> EntryKind {
    match meta.kind() {
        FileKind::Directory => EntryKind::Directory,
        FileKind::Regular => EntryKind::File,
        FileKind::Special | FileKind::Missing if meta.is_link() => EntryKind::Link,
        FileKind::Special | FileKind::Missing => EntryKind::Special,
    }
}
