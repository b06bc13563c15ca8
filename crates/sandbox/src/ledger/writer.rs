//! Appends to the chain: under the lock on `HEAD`, from the true end of the chain, one write for
//! all entries.
//!
//! A failed append leaves nothing behind.

use super::encode::encode;
use super::entry::Entry;
use super::error::LedgerError;
use super::files::{Files, OpenMode};
use super::head::{Head, HeadState, SIZE};
use super::outside_head::{OutsideHead, behind, misfit};
use super::repair;
use super::time::Timestamp;
use crate::boot_id::boot_id;
use crate::file_lock::FileLock;
use crate::os_file::{AtFlags, CWD, FileExt, fstat, identity, statat, truncate};
use crate::redact::Redactor;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The size at which a segment is left and the next one begun.
const SEGMENT: u64 = 16 << 20;

/// The most records between two writes of `HEAD`: a `HEAD` that is further behind was not left by a
/// writer.
pub(super) const BATCH: usize = 64;

/// How long to wait for another writer. An append takes microseconds; the repair of a segment,
/// tenths of a second.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The open files of a writer, and what it knows of the end of the chain.
#[derive(Debug)]
pub(super) struct Writer {
    files: Files,
    /// Locked during each append; never replaced.
    head_file: File,
    boot: String,
    limit: u64,
    /// The last `HEAD` that was read or written.
    known: Option<Head>,
    segment: Option<(u64, Arc<File>)>,
    /// Where the head is kept as well.
    outside: Option<OutsideHead>,
}

impl Writer {
    pub(super) fn open(dir: &Path) -> Result<Self, LedgerError> {
        let files = Files::create(dir)?;
        let head_file = open_head(&files)?;
        let boot = boot_id().to_owned();
        Ok(Self { files, head_file, boot, limit: SEGMENT, known: None, segment: None, outside: None })
    }

    /// The same, with its head also in the directory `state`. A ledger that is not the one whose
    /// head is there is refused.
    pub(super) fn open_with_head(dir: &Path, state: &Path) -> Result<Self, LedgerError> {
        let outside = OutsideHead::create(state)?;
        if let HeadState::Head(kept) = outside.read()?
            && kept.last.seq > 0
            && Files::open(dir)?.map_or(Ok(true), |files| files.is_unused())?
        {
            // Nothing is created where the evidence is.
            return Err(LedgerError::Tampered { path: dir.to_owned(), what: behind(kept.last.seq, 0) });
        }
        let mut writer = Self::open(dir)?;
        writer.outside = Some(outside);
        writer.compare_with_outside()?;
        Ok(writer)
    }

    /// Compares the end of the chain with the head outside, and writes that one if there is none
    /// yet.
    fn compare_with_outside(&mut self) -> Result<(), LedgerError> {
        let _lock = self.lock()?;
        let end = self.current()?;
        let Some(outside) = &self.outside else { return Ok(()) };
        let kept = outside.read()?;
        if let Some(what) = misfit(&self.files, &end, &kept)? {
            return Err(LedgerError::Tampered { path: self.files.path().to_owned(), what });
        }
        if kept == HeadState::Empty {
            if end.last.seq > 0 {
                let copy = outside.back_up(&end)?;
                tracing::warn!(target: "ledger", "The ledger of an earlier version goes on; its head is also kept in `{}` from now on, a copy of the old one is `{}`", outside.path().display(), copy.display());
            }
            self.keep_outside(end)?;
        }
        Ok(())
    }

    /// Begins to keep the head outside, from this end of the chain on.
    fn keep_outside(&mut self, end: Head) -> Result<(), LedgerError> {
        let Some(outside) = &self.outside else { return Ok(()) };
        if let Some((number, segment)) = &self.segment {
            segment.sync_data().map_err(LedgerError::io("sync", &self.files.segment_path(*number)))?;
        }
        let head = Head { kept: true, ..end };
        outside.write(&head)?;
        self.write_head(&head)?;
        self.known = Some(head);
        Ok(())
    }

    /// Takes the ledger as it is for the one to continue, after `record` of that is in it.
    pub(super) fn accept(dir: &Path, state: &Path, record: &[Entry]) -> Result<(), LedgerError> {
        let mut writer = Self::open(dir)?;
        writer.append(record, &Redactor::default())?;
        writer.outside = Some(OutsideHead::create(state)?);
        let _lock = writer.lock()?;
        let end = writer.current()?;
        writer.keep_outside(end)
    }

    pub(super) fn rotate_at(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    pub(super) fn path(&self) -> &Path {
        self.files.path()
    }

    /// Writes all `entries`, or none of them; returns the new end of the chain and the file to
    /// sync.
    pub(super) fn append(
        &mut self,
        entries: &[Entry],
        redactor: &Redactor,
    ) -> Result<(Head, Arc<File>), LedgerError> {
        let _lock = self.lock()?;
        let mut head = self.current()?;
        if head.length >= self.limit {
            head = self.rotate(head)?;
        }
        let start = head.clone();
        self.write(head, entries, redactor).inspect_err(|_| self.roll_back(&start))
    }

    /// Notes in `HEAD` that everything up to this end is on the disk, and keeps it outside.
    pub(super) fn note_synced(&mut self, end: &Head) -> Result<(), LedgerError> {
        let (_lock, seq) = (self.lock()?, end.last.seq);
        if let Some(outside) = &self.outside {
            // Another process may have kept a later one.
            if !matches!(outside.read()?, HeadState::Head(kept) if kept.last.seq >= seq) {
                outside.write(end)?;
            }
        }
        let Some(head) = self.read_head()? else { return Ok(()) };
        if head.synced >= seq || head.last.seq < seq || head.boot != self.boot {
            return Ok(());
        }
        let is_own = self.known.as_ref() == Some(&head);
        let synced = Head { synced: seq, ..head };
        self.write_head(&synced)?;
        // The `HEAD` of another writer is left for `current` to check and take over.
        if is_own {
            self.known = Some(synced);
        }
        Ok(())
    }

    fn lock(&self) -> Result<FileLock, LedgerError> {
        let path = self.files.path();
        let file = self.head_file.try_clone().map_err(LedgerError::io("lock", path))?;
        let lock = FileLock::exclusive_within(file, LOCK_TIMEOUT).map_err(LedgerError::io("lock", path))?;
        let busy = || LedgerError::Busy { path: path.to_owned(), seconds: LOCK_TIMEOUT.as_secs() };
        let lock = lock.ok_or_else(busy)?;
        // By the full name: this also finds that the whole directory was moved or replaced.
        let named = statat(CWD, self.files.head_path(), AtFlags::SYMLINK_NOFOLLOW);
        match (named, fstat(&self.head_file)) {
            (Ok(named), Ok(locked)) if identity(&named) == identity(&locked) => Ok(lock),
            _ => Err(LedgerError::Replaced { path: path.to_owned() }),
        }
    }

    /// The true end of the chain; its segment is open and ends with it.
    fn current(&mut self) -> Result<Head, LedgerError> {
        let Some(head) = self.read_head()? else { return self.begin() };
        if let Some(known) = &self.known
            && head.last.seq <= known.last.seq
            && head.last != known.last
        {
            return Err(self.broken(self.files.head_path(), "`HEAD` went back".to_owned()));
        }
        let segment = self.segment(head.segment)?;
        let path = || self.files.segment_path(head.segment);
        let stat = fstat(&*segment).map_err(|errno| LedgerError::io("inspect", &path())(errno.into()))?;
        if stat.st_nlink == 0 {
            return Err(LedgerError::Replaced { path: path() });
        }
        if head.boot == self.boot && u64::try_from(stat.st_size) == Ok(head.length) {
            return Ok(head);
        }
        repair::tail(&self.files, &segment, head, &self.boot)
    }

    /// Writes the first `HEAD` and creates the first segment.
    fn begin(&mut self) -> Result<Head, LedgerError> {
        let segment = self.create_segment(1)?;
        let head = Head::first(&self.boot);
        // Half a `HEAD` would not be one; an empty one begins anew.
        self.write_head(&head).inspect_err(|_| drop(self.head_file.set_len(0)))?;
        self.head_file.sync_all().map_err(LedgerError::io("sync", self.files.head_path()))?;
        self.files.sync_names()?;
        self.segment = Some((1, segment));
        Ok(head)
    }

    /// Leaves a full segment and begins the next. `HEAD` names it before there is anything in it,
    /// so that no record can ever be in a segment that `HEAD` does not name.
    fn rotate(&mut self, head: Head) -> Result<Head, LedgerError> {
        let full = self.segment(head.segment)?;
        full.sync_data().map_err(LedgerError::io("sync", &self.files.segment_path(head.segment)))?;
        let number = head.segment + 1;
        let segment = self.create_segment(number)?;
        self.files.sync_names()?;
        let head = Head { segment: number, length: 0, synced: head.last.seq, ..head };
        self.write_head(&head)?;
        // A power cut must not leave records in a segment that the `HEAD` on the disk does not
        // name.
        self.head_file.sync_data().map_err(LedgerError::io("sync", self.files.head_path()))?;
        self.segment = Some((number, segment));
        self.known = Some(head.clone());
        Ok(head)
    }

    fn write(
        &mut self,
        mut head: Head,
        entries: &[Entry],
        redactor: &Redactor,
    ) -> Result<(Head, Arc<File>), LedgerError> {
        let segment = self.segment(head.segment)?;
        let path = self.files.segment_path(head.segment);
        let failed = |why| LedgerError::io("write", &path)(why);
        let time = Timestamp::now().to_string();
        for batch in entries.chunks(BATCH) {
            let mut lines = Vec::new();
            for entry in batch {
                head.last = encode(&mut lines, entry, head.last, &time, redactor).map_err(failed)?;
            }
            (&*segment).write_all(&lines).map_err(failed)?;
            head.length += lines.len() as u64;
            self.write_head(&head)?;
            self.known = Some(head.clone());
        }
        Ok((head, segment))
    }

    /// Removes what a failed append left. If this fails too, the next writer finds an unfinished
    /// line, or whole records that `HEAD` does not name, and repairs both.
    fn roll_back(&mut self, start: &Head) {
        if let Some((_, segment)) = &self.segment {
            let _ = truncate(segment, start.length);
        }
        self.known = self.write_head(start).ok().map(|()| start.clone());
    }

    fn segment(&mut self, number: u64) -> Result<Arc<File>, LedgerError> {
        if let Some((open, file)) = &self.segment
            && *open == number
        {
            return Ok(Arc::clone(file));
        }
        let Some(file) = self.files.segment(number, OpenMode::Write)? else {
            let path = self.files.segment_path(number);
            return Err(self.broken(&path, "`HEAD` names it, and it is not there".to_owned()));
        };
        let file = Arc::new(file);
        self.segment = Some((number, Arc::clone(&file)));
        Ok(file)
    }

    fn create_segment(&self, number: u64) -> Result<Arc<File>, LedgerError> {
        let path = self.files.segment_path(number);
        let file = self.files.segment(number, OpenMode::Create)?;
        let file = file.ok_or_else(|| LedgerError::Replaced { path: path.clone() })?;
        // A writer that was killed here leaves it empty; anything else was not written by the
        // ledger.
        if file.metadata().map_err(LedgerError::io("inspect", &path))?.len() > 0 {
            return Err(self.broken(&path, "it has contents, and `HEAD` does not know it".to_owned()));
        }
        Ok(Arc::new(file))
    }

    /// The contents of `HEAD`; `None` while it is empty.
    fn read_head(&self) -> Result<Option<Head>, LedgerError> {
        let path = self.files.head_path();
        let mut bytes = [0; SIZE + 1];
        match self.head_file.read_at(&mut bytes, 0).map_err(LedgerError::io("read", path))? {
            0 => Ok(None),
            count => match Head::parse(&bytes[..count]) {
                Some(head) => Ok(Some(head)),
                None => Err(self.broken(path, "it is not a valid head of a ledger".to_owned())),
            },
        }
    }

    fn write_head(&self, head: &Head) -> Result<(), LedgerError> {
        let written = self.head_file.write_all_at(head.encode().as_bytes(), 0);
        written.map_err(LedgerError::io("write", self.files.head_path()))
    }

    fn broken(&self, path: &Path, what: String) -> LedgerError {
        LedgerError::Broken { path: path.to_owned(), what }
    }
}

/// Opens `HEAD`, and creates it only where there is no record yet.
fn open_head(files: &Files) -> Result<File, LedgerError> {
    if let Some(file) = files.head(OpenMode::Write)? {
        return Ok(file);
    }
    if !files.list()?.numbers.is_empty() {
        // Either another process has just created both, or `HEAD` was removed.
        return files.head(OpenMode::Write)?.ok_or_else(|| LedgerError::Broken {
            path: files.head_path().to_owned(),
            what: "there are records, and it is not there".to_owned(),
        });
    }
    files.head(OpenMode::Create)?.ok_or_else(|| LedgerError::Replaced { path: files.path().to_owned() })
}
