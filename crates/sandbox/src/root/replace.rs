//! Atomic replacement: a temporary file is written, synced and renamed, then the directory is
//! synced.
//!
//! A writer holds the lock of the name from before it reads the old contents until the new ones are
//! in place. Under the lock it opens the name again without following links, because the previous
//! holder may have replaced the file.
//!
//! Invariant: at every moment the name is the whole old file or the whole new one.

use super::create_parents::{create_parents, sync_dir};
use super::edit::{Edited, replace_once};
use super::error::RootError;
use super::metadata::FileMeta;
use super::openat2_resolver::OPEN_READ;
use super::place::{Place, PlaceHandle};
use super::preserve_metadata::PreservedMetadata;
use super::read::{More, Span, read};
use super::stale_temps::remove_stale_temps;
use super::temp::{RenameMode, TempFile};
use super::walk_resolver::DirEntryRef;
use super::write_context::WriteContext;
use crate::file_lock::FileLock;
use crate::os_file::{
    AsFd, Errno, Mode, OFlags, OwnedFd, copy_file_range, fstat, fsync, openat, read as read_some,
};
use picoclaw_policy::FileKind;

/// The largest file that is appended to; an append copies it within the kernel.
pub const APPEND_LIMIT: u64 = 1 << 30;

/// The largest file that is edited; an edit holds it in memory.
pub const EDIT_LIMIT: u64 = 32 << 20;

/// How often an append is retried because the file was made meanwhile without the lock.
const MAX_ATTEMPTS: usize = 8;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 64 << 10;

/// Whether an existing file may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// It is replaced.
    Yes,
    /// It stays, and the write fails.
    No,
}

/// A write under the lock of its name.
pub(super) struct LockedWrite<'a> {
    place: &'a Place,
    context: &'a WriteContext,
    entry: DirEntryRef,
    /// What had the name when it was checked.
    checked: Option<FileMeta>,
    _lock: FileLock,
}

/// The file that has the name now.
struct SourceFile {
    file: OwnedFd,
    meta: FileMeta,
}

impl<'a> LockedWrite<'a> {
    /// Creates the missing directories and takes the lock.
    pub(super) fn begin(place: &'a Place, context: &'a WriteContext) -> Result<Self, RootError> {
        let target = match &place.handle {
            PlaceHandle::Target(target) => target,
            PlaceHandle::Directory { .. } => return Err(RootError::IsADirectory { path: place.asked() }),
            PlaceHandle::Blocked(errno) => return Err(place.fault("write")(*errno)),
            PlaceHandle::Closed => return Err(place.closed()),
            PlaceHandle::Open { .. } | PlaceHandle::File { .. } | PlaceHandle::Missing => {
                return Err(RootError::OtherUse { path: place.asked() });
            }
        };
        let entry = create_parents(&target.entry, &target.missing)
            .map_err(place.fault("make the directories above"))?;
        let lock = context.locks.lock(entry.dir_meta.id(), &entry.name).map_err(place.fault("lock"))?;
        match lock {
            Some(lock) => Ok(Self { place, context, entry, checked: target.existing, _lock: lock }),
            None => Err(RootError::Busy { path: place.asked(), waited: context.locks.timeout() }),
        }
    }

    /// Replaces the file, or makes it.
    pub(super) fn write(&self, content: &[u8], overwrite: Overwrite) -> Result<(), RootError> {
        let (mode, old) = match (overwrite, &self.checked) {
            (Overwrite::Yes, checked) => (
                RenameMode::Replace,
                checked.as_ref().map(|meta| PreservedMetadata::of_entry(meta, &self.entry)),
            ),
            (Overwrite::No, None) => (RenameMode::NoReplace, None),
            (Overwrite::No, Some(_)) => return Err(RootError::Exists { path: self.place.asked() }),
        };
        let temp = self.temp()?;
        temp.add(content).map_err(self.fault("write"))?;
        self.commit(temp, old.as_ref(), mode)
    }

    /// Appends to the file, or makes it.
    pub(super) fn append(&self, content: &[u8]) -> Result<(), RootError> {
        for _ in 0..MAX_ATTEMPTS {
            let source = self.source()?;
            let temp = self.temp()?;
            if let Some(source) = &source {
                self.check_size(source.meta.size(), APPEND_LIMIT)?;
                self.copy(source, &temp)?;
            }
            temp.add(content).map_err(self.fault("write"))?;
            let old = source.as_ref().map(|source| PreservedMetadata::of_file(&source.meta, &source.file));
            let mode = if source.is_some() { RenameMode::Replace } else { RenameMode::NoReplace };
            // Not every system replaces a file that is open.
            drop(source);
            match self.commit(temp, old.as_ref(), mode) {
                Err(RootError::Exists { .. }) => {}
                done => return done,
            }
        }
        Err(RootError::Changed { path: self.place.asked() })
    }

    /// Replaces the only occurrence of `old`, which is not empty, by `new`.
    pub(super) fn edit(&self, old: &str, new: &str) -> Result<(), RootError> {
        let path = || self.place.asked();
        let source = self.source()?.ok_or_else(|| RootError::NotFound { path: path() })?;
        self.check_size(source.meta.size(), EDIT_LIMIT)?;
        let whole = Span { offset: 0, length: usize::try_from(EDIT_LIMIT).unwrap_or(usize::MAX) };
        let excerpt = read(source.file.as_fd(), &source.meta, whole).map_err(self.fault("read"))?;
        if excerpt.more == More::Follows {
            return Err(RootError::TooLarge { path: path(), size: EDIT_LIMIT + 1, limit: EDIT_LIMIT });
        }
        let contents = match replace_once(&excerpt.bytes, old, new) {
            Edited::Once(contents) => contents,
            Edited::Times(0) => return Err(RootError::NoMatch { path: path() }),
            Edited::Times(count) => return Err(RootError::ManyMatches { path: path(), count }),
        };
        let temp = self.temp()?;
        temp.add(&contents).map_err(self.fault("write"))?;
        let old = PreservedMetadata::of_file(&source.meta, &source.file);
        drop(source);
        self.commit(temp, Some(&old), RenameMode::Replace)
    }

    /// Opens what has the name now. Since the check, it may only have become a newer regular file.
    fn source(&self) -> Result<Option<SourceFile>, RootError> {
        let path = || self.place.asked();
        let file =
            match openat(&self.entry.dir, &self.entry.name, OPEN_READ | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(file) => file,
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::LOOP) => return Err(RootError::Changed { path: path() }),
                Err(errno) => return Err(self.fault("open")(errno)),
            };
        let meta: FileMeta = fstat(&file).map_err(self.fault("look at"))?.into();
        match meta.kind() {
            FileKind::Regular => {}
            FileKind::Directory => return Err(RootError::IsADirectory { path: path() }),
            FileKind::Special | FileKind::Missing => return Err(RootError::NotAFile { path: path() }),
        }
        let is_checked = self.checked.is_some_and(|checked| checked.id() == meta.id());
        if !is_checked && meta.has_hard_links() {
            // It may be a hard link to something Protected, which was not checked.
            return Err(RootError::Changed { path: path() });
        }
        Ok(Some(SourceFile { file, meta }))
    }

    fn check_size(&self, size: u64, limit: u64) -> Result<(), RootError> {
        if size <= limit {
            return Ok(());
        }
        Err(RootError::TooLarge { path: self.place.asked(), size, limit })
    }

    /// Copies a file into a new one, within the kernel if possible.
    fn copy(&self, source: &SourceFile, temp: &TempFile<'_>) -> Result<(), RootError> {
        let mut copied = 0;
        loop {
            self.check_size(copied, APPEND_LIMIT)?;
            match copy_file_range(&source.file, None, temp.file(), None, COPY_BYTES << 8) {
                Ok(0) => break,
                Ok(count) => copied += count as u64,
                Err(Errno::INTR) => {}
                Err(Errno::NOSPC | Errno::DQUOT) => return Err(self.fault("write")(Errno::NOSPC)),
                // Reading and writing below reports any other error.
                Err(_) => break,
            }
        }
        // Also reaches the end where copy_file_range(2) returned 0 before it.
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            match read_some(&source.file, &mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    copied += count as u64;
                    self.check_size(copied, APPEND_LIMIT)?;
                    temp.add(&buffer[..count]).map_err(self.fault("write"))?;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.fault("read")(errno)),
            }
        }
    }

    fn temp(&self) -> Result<TempFile<'_>, RootError> {
        TempFile::new_in(&self.entry.dir, self.context.pid).map_err(self.fault("write"))
    }

    /// Syncs the new file, preserves the metadata of the old one, and renames.
    fn commit(
        &self,
        temp: TempFile<'_>,
        old: Option<&PreservedMetadata>,
        mode: RenameMode,
    ) -> Result<(), RootError> {
        fsync(temp.file()).map_err(self.fault("sync"))?;
        if let Some(old) = old {
            // Last, so that a file left by a killed process is 0600 and recognised as stale.
            old.apply(temp.file(), &self.entry.dir_meta, self.context)
                .map_err(self.fault("keep the mode of"))?;
        }
        temp.rename_to(&self.entry.name, mode).map_err(self.fault("replace"))?;
        sync_dir(&self.entry.dir).map_err(self.fault("sync the directory of"))?;
        remove_stale_temps(&self.entry.dir, &self.entry.dir_meta, self.context);
        Ok(())
    }

    fn fault(&self, verb: &'static str) -> impl Fn(Errno) -> RootError {
        self.place.fault(verb)
    }
}
