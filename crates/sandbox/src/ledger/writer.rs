//! The writing end: under the lock, from the true end of the chain, one write for all entries.
//!
//! On the common way an append costs seven system calls: lock, look whether `HEAD` is still the file that is
//! locked, read it, ask the segment for its size, write the records, write `HEAD`, unlock.
//!
//! Invariant: nothing is written before the end of the chain is known, and a failed write leaves nothing behind.

use super::encode::encode;
use super::entry::Entry;
use super::error::LedgerError;
use super::files::{Files, Opened, Use};
use super::head::{Head, SIZE};
use super::lock::{Held, PATIENCE};
use super::repair;
use super::time::Timestamp;
use crate::boot;
use crate::redact::Redactor;
use rustix::fs::{AtFlags, CWD, Stat, fstat, statat};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// How long a segment gets before the next one is begun.
pub(super) const SEGMENT: u64 = 16 << 20;

/// The most records between two writes of `HEAD`, so that a `HEAD` further behind is known not to be ours.
pub(super) const BATCH: usize = 64;

/// A writer's handles, and what it knows of the end of the chain.
#[derive(Debug)]
pub(super) struct Writer {
    files: Files,
    head_file: Arc<File>,
    boot: String,
    limit: u64,
    /// Which file is locked: device and inode.
    identity: (u64, u64),
    /// The last `HEAD` that was read or written, and its bytes.
    known: Option<(Head, [u8; SIZE])>,
    segment: Option<(u64, Arc<File>)>,
    buffer: Vec<u8>,
}

impl Writer {
    pub(super) fn open(dir: &Path) -> Result<Self, LedgerError> {
        let files = Files::make(dir)?;
        let (head_file, stat) = open_head(&files)?;
        Ok(Self {
            files,
            head_file: Arc::new(head_file),
            boot: boot::id().to_owned(),
            limit: SEGMENT,
            identity: (stat.st_dev, stat.st_ino),
            known: None,
            segment: None,
            buffer: Vec::new(),
        })
    }

    pub(super) fn rotate_at(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    pub(super) fn path(&self) -> &Path {
        self.files.path()
    }

    /// Writes all `entries`, or none of them; answers the last record and the file it is in, for syncing.
    pub(super) fn append(
        &mut self,
        entries: &[Entry],
        redactor: &Redactor,
    ) -> Result<(u64, Arc<File>), LedgerError> {
        let head_file = Arc::clone(&self.head_file);
        let _held = self.lock(&head_file)?;
        let mut head = self.current()?;
        if head.length >= self.limit {
            head = self.rotate(head)?;
        }
        let start = head.clone();
        self.write(head, entries, redactor).inspect_err(|_| self.roll_back(&start))
    }

    /// Notes in `HEAD` that everything up to `seq` is on the disk.
    pub(super) fn note_synced(&mut self, seq: u64) -> Result<(), LedgerError> {
        let head_file = Arc::clone(&self.head_file);
        let _held = self.lock(&head_file)?;
        let Some(head) = self.read_head()? else { return Ok(()) };
        if head.synced >= seq || head.tip.seq < seq || head.boot != self.boot {
            return Ok(());
        }
        let ours = self.known.as_ref().is_some_and(|(known, _)| *known == head);
        let bytes = self.write_head(&Head { synced: seq, ..head.clone() })?;
        // A `HEAD` of somebody else is left for `current` to take over, with its checks.
        if ours {
            self.known = Some((Head { synced: seq, ..head }, bytes));
        }
        Ok(())
    }

    fn lock<'f>(&self, head_file: &'f File) -> Result<Held<'f>, LedgerError> {
        let path = self.files.path();
        let held = Held::take(head_file).map_err(LedgerError::io("lock", path))?;
        let held =
            held.ok_or_else(|| LedgerError::Busy { path: path.to_owned(), seconds: PATIENCE.as_secs() })?;
        // By its full name: a directory that was moved away or made anew is found out as well.
        let named = statat(CWD, self.files.head_path(), AtFlags::SYMLINK_NOFOLLOW);
        match named {
            Ok(named) if (named.st_dev, named.st_ino) == self.identity => Ok(held),
            _ => Err(LedgerError::Replaced { path: path.to_owned() }),
        }
    }

    /// The true end of the chain, with the segment opened and its tail in order.
    fn current(&mut self) -> Result<Head, LedgerError> {
        let Some(head) = self.read_head()? else { return self.begin() };
        if let Some((known, _)) = &self.known {
            let same = known.tip.seq == head.tip.seq && known.tip.hash == head.tip.hash;
            if head.tip.seq <= known.tip.seq && !same {
                return Err(self.broken(self.files.head_path(), "`HEAD` went back".to_owned()));
            }
        }
        // Opened just now, under the lock, it has been looked at as well.
        let (segment, looked) = match self.known_segment(head.segment) {
            Some(segment) => (segment, None),
            None => self.open_segment(head.segment).map(|(segment, stat)| (segment, Some(stat)))?,
        };
        let path = || self.files.segment_path(head.segment);
        let stat = match looked {
            Some(stat) => stat,
            None => fstat(&*segment).map_err(|errno| LedgerError::io("inspect", &path())(errno.into()))?,
        };
        if stat.st_nlink == 0 {
            return Err(LedgerError::Replaced { path: path() });
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if head.boot == self.boot && head.length == size {
            return Ok(head);
        }
        repair::tail(&self.files, &segment, head, &self.boot)
    }

    /// The first `HEAD` and segment of a new ledger.
    fn begin(&mut self) -> Result<Head, LedgerError> {
        let segment = self.make_segment(1)?;
        let head = Head::first(&self.boot);
        // Half a `HEAD` would not be one; an empty one begins anew.
        self.write_head(&head).inspect_err(|_| drop(self.head_file.set_len(0)))?;
        self.head_file.sync_all().map_err(LedgerError::io("sync", self.files.head_path()))?;
        self.files.sync_names()?;
        self.segment = Some((1, segment));
        Ok(head)
    }

    /// Leaves a full segment and begins the next. `HEAD` names it before there is anything in it, so that no
    /// record can ever lie in a segment that `HEAD` does not know.
    fn rotate(&mut self, head: Head) -> Result<Head, LedgerError> {
        let full = self.segment(head.segment)?;
        full.sync_data().map_err(LedgerError::io("sync", &self.files.segment_path(head.segment)))?;
        let number = head.segment + 1;
        let segment = self.make_segment(number)?;
        self.files.sync_names()?;
        let head = Head { segment: number, length: 0, synced: head.tip.seq, ..head };
        let bytes = self.write_head(&head)?;
        // A power cut must not leave records in a segment that the `HEAD` on the disk has never heard of.
        self.head_file.sync_data().map_err(LedgerError::io("sync", self.files.head_path()))?;
        self.segment = Some((number, segment));
        self.known = Some((head.clone(), bytes));
        Ok(head)
    }

    fn write(
        &mut self,
        mut head: Head,
        entries: &[Entry],
        redactor: &Redactor,
    ) -> Result<(u64, Arc<File>), LedgerError> {
        let segment = self.segment(head.segment)?;
        let number = head.segment;
        let time = Timestamp::now().to_string();
        for batch in entries.chunks(BATCH) {
            self.buffer.clear();
            for entry in batch {
                let tip = encode(&mut self.buffer, entry, head.tip, &time, redactor);
                head.tip = tip.map_err(|why| self.unwritten(number, why))?;
            }
            (&*segment).write_all(&self.buffer).map_err(|why| self.unwritten(number, why))?;
            head.length += self.buffer.len() as u64;
            let bytes = self.write_head(&head)?;
            self.known = Some((head.clone(), bytes));
        }
        Ok((head.tip.seq, segment))
    }

    /// Takes back what a failed append left. If this fails too, the next writer finds an unfinished line, or
    /// whole records that `HEAD` does not know: both are put in order then.
    fn roll_back(&mut self, start: &Head) {
        if let Some((_, segment)) = &self.segment {
            let _ = segment.set_len(start.length);
        }
        self.known = self.write_head(start).ok().map(|bytes| (start.clone(), bytes));
    }

    fn unwritten(&self, number: u64, why: io::Error) -> LedgerError {
        LedgerError::io("write", &self.files.segment_path(number))(why)
    }

    fn segment(&mut self, number: u64) -> Result<Arc<File>, LedgerError> {
        match self.known_segment(number) {
            Some(segment) => Ok(segment),
            None => self.open_segment(number).map(|(segment, _)| segment),
        }
    }

    fn known_segment(&self, number: u64) -> Option<Arc<File>> {
        let (_, file) = self.segment.as_ref().filter(|(open, _)| *open == number)?;
        Some(Arc::clone(file))
    }

    fn open_segment(&mut self, number: u64) -> Result<(Arc<File>, Stat), LedgerError> {
        let Some((file, stat)) = self.files.segment(number, Use::Write)? else {
            let path = self.files.segment_path(number);
            return Err(self.broken(&path, "`HEAD` names it, and it is not there".to_owned()));
        };
        let file = Arc::new(file);
        self.segment = Some((number, Arc::clone(&file)));
        Ok((file, stat))
    }

    fn make_segment(&self, number: u64) -> Result<Arc<File>, LedgerError> {
        let path = self.files.segment_path(number);
        let file = self.files.segment(number, Use::Create)?;
        let (file, stat) = file.ok_or_else(|| LedgerError::Replaced { path: path.clone() })?;
        // Empty is what a writer leaves that ended just here; anything else was put there by somebody.
        if stat.st_size > 0 {
            return Err(self.broken(&path, "it has contents, and `HEAD` does not know it".to_owned()));
        }
        Ok(Arc::new(file))
    }

    /// What `HEAD` says; `None` when it is still empty.
    fn read_head(&self) -> Result<Option<Head>, LedgerError> {
        let path = self.files.head_path();
        let mut bytes = [0; SIZE + 1];
        match self.head_file.read_at(&mut bytes, 0).map_err(LedgerError::io("read", path))? {
            0 => Ok(None),
            SIZE if let Some((known, same)) = &self.known
                && bytes[..SIZE] == same[..] =>
            {
                Ok(Some(known.clone()))
            }
            count => match Head::parse(&bytes[..count]) {
                Some(head) => Ok(Some(head)),
                None => Err(self.broken(path, "its contents are not ours".to_owned())),
            },
        }
    }

    fn write_head(&self, head: &Head) -> Result<[u8; SIZE], LedgerError> {
        let bytes = head.encode();
        self.head_file.write_all_at(&bytes, 0).map_err(LedgerError::io("write", self.files.head_path()))?;
        Ok(bytes)
    }

    fn broken(&self, path: &Path, what: String) -> LedgerError {
        LedgerError::Broken { path: path.to_owned(), what }
    }
}

/// Opens `HEAD`, and makes it only where there is no record yet.
fn open_head(files: &Files) -> Result<Opened, LedgerError> {
    if let Some(opened) = files.head(Use::Write)? {
        return Ok(opened);
    }
    if !files.list()?.numbers.is_empty() {
        // Either another process has just made both, or somebody took `HEAD` away.
        return files.head(Use::Write)?.ok_or_else(|| LedgerError::Broken {
            path: files.head_path().to_owned(),
            what: "there are records, and it is not there".to_owned(),
        });
    }
    files.head(Use::Create)?.ok_or_else(|| LedgerError::Replaced { path: files.path().to_owned() })
}
