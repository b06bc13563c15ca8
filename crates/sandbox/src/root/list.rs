//! Naming the entries of a directory, a page at a time.
//!
//! Invariant: the memory follows the page, not the directory; only the page's own entries and those before it are
//! held, and links are named, never followed.

use super::facts::Facts;
use super::names::Names;
use picoclaw_policy::FileKind;
use rustix::fs::{AtFlags, FileType, RawDir, RawDirEntry, statat};
use rustix::io::{Errno, Result};
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// Entries that one page and those before it may have together.
pub(super) const WINDOW: usize = 100_000;

/// Entries that a directory may have to be listed at all.
pub(super) const ENTRIES: usize = 2_000_000;

/// How much of a directory is asked for at once.
const CHUNK: usize = 32 << 10;

/// Which part of a listing is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Entries that are left out at the beginning.
    pub offset: usize,
    /// The most entries that are returned.
    pub limit: usize,
}

impl Page {
    /// How many entries have to be known for it: its own, and those before it.
    pub(super) fn window(self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

/// One entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'l> {
    /// Its name, any bytes but NUL and slash.
    pub name: &'l OsStr,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is, without following it: where a link leads is not told by naming it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone)]
pub struct Listing {
    /// As far as they are known; at least to the end of the page.
    pub(super) names: Arc<Names>,
    pub(super) page: Page,
    pub(super) kinds: Kinds,
    /// How many entries the directory has.
    pub total: usize,
}

/// Who said what the entries are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    /// The directory, with their names.
    Told,
    /// At least one of them itself, a moment later.
    Asked,
}

impl Listing {
    /// The entries of the page.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        let names = self.names.from(self.page.offset).take(self.page.limit);
        names.map(|(name, kind)| Entry { name: OsStr::from_bytes(name), kind })
    }
}

/// What a listing came to.
pub(super) enum Listed {
    Page(Listing),
    TooMany,
}

/// Reads a directory that is open at its beginning. The page is no larger than a [`WINDOW`].
pub(super) fn read(dir: BorrowedFd<'_>, page: Page) -> Result<Listed> {
    let mut names = Names::first(page.window());
    let (mut total, mut kinds) = (0, Kinds::Told);
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut entries = RawDir::new(dir, chunk.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // The directory was removed; what was in it was removed before.
            Err(Errno::NOENT) => break,
            Err(errno) => return Err(errno),
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        total += 1;
        if total > ENTRIES {
            return Ok(Listed::TooMany);
        }
        if names.have_room_for(name) {
            if entry.file_type() == FileType::Unknown {
                kinds = Kinds::Asked;
            }
            match kind(dir, &entry)? {
                Some(kind) => names.add(name, kind),
                None => total -= 1,
            }
        }
    }
    Ok(Listed::Page(Listing { names: Arc::new(names.close()), page, kinds, total }))
}

/// The kind of an entry; `None` when it is gone again.
fn kind(dir: BorrowedFd<'_>, entry: &RawDirEntry<'_>) -> Result<Option<EntryKind>> {
    Ok(Some(match entry.file_type() {
        FileType::Directory => EntryKind::Directory,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        // Some file systems do not say what they name.
        FileType::Unknown => match statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => kind_of(&stat.into()),
            Err(Errno::NOENT) => return Ok(None),
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
