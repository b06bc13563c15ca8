//! Opens the files of the ledger: beneath one directory handle, never through a link, never
//! blocking, regular files only.

use super::error::LedgerError;
use crate::os_file::{CWD, Dir, Errno, FileType, Mode, OFlags, OwnedFd, fstat, fsync, mkdirat, openat};
use std::fs::File;
use std::path::{Path, PathBuf};

const HEAD: &str = "HEAD";

/// The name of the head outside the ledger.
pub(super) const OUTSIDE_HEAD: &str = "ledger-head";

/// The name of the copy of a `HEAD` that the first version wrote.
pub(super) const BACKUP: &str = "ledger-head.v1";

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// To read it.
    Read,
    /// To append to it; it must exist.
    Write,
    /// To append to it; it is created if need be.
    Create,
}

/// The segments of a ledger, in order.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) numbers: Vec<u64>,
    /// A file that is named like a segment and is none.
    pub(super) foreign: Option<String>,
}

/// An open ledger directory.
#[derive(Debug)]
pub(super) struct Files {
    dir: OwnedFd,
    path: PathBuf,
    head: PathBuf,
}

impl Files {
    /// Opens the directory for a writer; creates it (0700) if need be.
    pub(super) fn create(path: &Path) -> Result<Self, LedgerError> {
        // Kept absolute, so that a later change of the working directory does not look like a
        // removed ledger.
        let path = std::path::absolute(path).map_err(LedgerError::io("find", path))?;
        if let Some(files) = Self::open(&path)? {
            return Ok(files);
        }
        create_dir(&path)?;
        Self::open(&path)?.ok_or(LedgerError::Replaced { path })
    }

    /// Opens the directory; `None` when there is none.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, LedgerError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(dir) => Ok(Some(Self { dir, path: path.to_owned(), head: path.join(HEAD) })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(LedgerError::io("open", path)(errno.into())),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn head_path(&self) -> &Path {
        &self.head
    }

    pub(super) fn segment_path(&self, number: u64) -> PathBuf {
        self.path.join(segment_name(number))
    }

    /// Opens `HEAD`; `None` when there is none.
    pub(super) fn head(&self, mode: OpenMode) -> Result<Option<File>, LedgerError> {
        // Not for appending: it is overwritten in place.
        self.file(HEAD, mode, OFlags::empty())
    }

    /// Opens a segment; `None` when there is none.
    pub(super) fn segment(&self, number: u64, mode: OpenMode) -> Result<Option<File>, LedgerError> {
        self.file(&segment_name(number), mode, OFlags::APPEND)
    }

    /// Opens the head that is kept outside the ledger, in the directory of the instance's state.
    pub(super) fn outside_head(&self, mode: OpenMode) -> Result<Option<File>, LedgerError> {
        self.file(OUTSIDE_HEAD, mode, OFlags::empty())
    }

    /// Opens the copy of a `HEAD` that the first version wrote, in the same directory.
    pub(super) fn backup(&self, mode: OpenMode) -> Result<Option<File>, LedgerError> {
        self.file(BACKUP, mode, OFlags::empty())
    }

    /// Every segment.
    pub(super) fn list(&self) -> Result<Listing, LedgerError> {
        let failed = |errno: Errno| LedgerError::io("list", &self.path)(errno.into());
        let mut listing = Listing::default();
        for entry in Dir::read_from(&self.dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy();
            match segment_number(&name) {
                Some(number) => listing.numbers.push(number),
                None if name.ends_with(".jsonl") => listing.foreign = Some(name.into_owned()),
                None => {}
            }
        }
        listing.numbers.sort_unstable();
        Ok(listing)
    }

    /// Whether no writer has written anything here.
    pub(super) fn is_unused(&self) -> Result<bool, LedgerError> {
        Ok(self.head(OpenMode::Read)?.is_none() && self.list()?.numbers.is_empty())
    }

    /// Syncs the names of new files.
    pub(super) fn sync_names(&self) -> Result<(), LedgerError> {
        fsync(&self.dir).map_err(|errno| LedgerError::io("sync", &self.path)(errno.into()))
    }

    fn file(&self, name: &str, mode: OpenMode, extra: OFlags) -> Result<Option<File>, LedgerError> {
        let path = || self.path.join(name);
        // NONBLOCK: a FIFO planted under this name must fail the check below, not hang here.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let flags = match mode {
            OpenMode::Read => flags | OFlags::RDONLY,
            OpenMode::Write => flags | OFlags::RDWR | extra,
            OpenMode::Create => flags | OFlags::RDWR | OFlags::CREATE | extra,
        };
        let fd = match openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => {
                return Err(LedgerError::NotAFile { path: path() });
            }
            Err(errno) => return Err(LedgerError::io("open", &path())(errno.into())),
        };
        let stat = fstat(&fd).map_err(|errno| LedgerError::io("inspect", &path())(errno.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(LedgerError::NotAFile { path: path() });
        }
        Ok(Some(File::from(fd)))
    }
}

/// Creates the directory and its missing parents, and syncs their names.
fn create_dir(path: &Path) -> Result<(), LedgerError> {
    let failed = |errno: Errno| LedgerError::io("make", path)(errno.into());
    let Some(parent) = path.parent() else { return Ok(()) };
    match mkdirat(CWD, path, Mode::RWXU) {
        Err(Errno::EXIST) => return Ok(()),
        Err(Errno::NOENT) => {
            create_dir(parent)?;
            mkdirat(CWD, path, Mode::RWXU)
                .or_else(|e| if e == Errno::EXIST { Ok(()) } else { Err(e) })
                .map_err(failed)?;
        }
        made => made.map_err(failed)?,
    }
    let above = openat(CWD, parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    above.and_then(fsync).map_err(failed)
}

/// The file name of a segment.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:08}.jsonl")
}

/// The number in a segment's file name, if it has the canonical spelling.
fn segment_number(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".jsonl")?.parse().ok()?;
    (number > 0 && segment_name(number) == name).then_some(number)
}
