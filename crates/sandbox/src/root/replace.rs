//! Replacing a file as a whole: a temporary file beside it, synced, takes its name, and the directory is synced.
//!
//! Whoever replaces holds the lock of the name from before the old contents are read until the new ones are in
//! place. Under the lock the name is looked at again in the held directory, without following it: the file may
//! have been replaced by a writer that held the lock before, and its newest contents are the ones to change.
//!
//! Invariant: at every moment the name stands for the whole old file or the whole new one.

use super::edit::{Edited, replace_once};
use super::error::RootError;
use super::facts::Facts;
use super::keep::Keep;
use super::openat2::LOOK;
use super::parents;
use super::place::{Hold, Place};
use super::read::{More, Span, read};
use super::scribe::Scribe;
use super::sweep::sweep;
use super::temp::{Taking, Temp};
use super::walk::Spot;
use crate::file_lock::FileLock;
use picoclaw_policy::FileKind;
use rustix::fs::{Mode, OFlags, copy_file_range, fstat, fsync, openat};
use rustix::io::{Errno, read as read_some};
use std::os::fd::{AsFd, OwnedFd};

/// The largest file that is appended to: an append copies it, without holding it in memory.
pub const APPEND_LIMIT: u64 = 1 << 30;

/// The largest file that is edited: an edit holds it in memory.
pub const EDIT_LIMIT: u64 = 32 << 20;

/// How often an append begins again because somebody without the lock made the file meanwhile.
const TRIES: usize = 8;

/// Bytes that are copied at once.
const PIECE: usize = 64 << 10;

/// Whether an existing file may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// It is replaced.
    Yes,
    /// It stays, and the write fails.
    No,
}

/// A name that is about to be written, under its lock.
pub(super) struct Pen<'a> {
    place: &'a Place,
    scribe: &'a Scribe,
    spot: Spot,
    there: Option<Facts>,
    _lock: FileLock,
}

/// The file that is at the name now.
struct Source {
    file: OwnedFd,
    facts: Facts,
}

impl<'a> Pen<'a> {
    /// Makes the directories that are missing and takes the lock.
    pub(super) fn take(place: &'a Place, scribe: &'a Scribe) -> Result<Self, RootError> {
        let name = match &place.hold {
            Hold::Name(name) => name,
            Hold::Directory { .. } => return Err(RootError::IsADirectory { path: place.asked() }),
            Hold::Blocked(errno) => return Err(place.fault("write")(*errno)),
            Hold::Closed => return Err(place.closed()),
            Hold::Open { .. } | Hold::File { .. } | Hold::Nothing => {
                return Err(RootError::OtherUse { path: place.asked() });
            }
        };
        let spot =
            parents::make(&name.spot, &name.missing).map_err(place.fault("make the directories above"))?;
        let lock = scribe.locks.hold(spot.dir_facts.id(), &spot.name).map_err(place.fault("lock"))?;
        match lock {
            Some(lock) => Ok(Self { place, scribe, spot, there: name.there, _lock: lock }),
            None => Err(RootError::Busy { path: place.asked(), waited: scribe.locks.wait() }),
        }
    }

    /// Puts `content` in place of whatever is there.
    pub(super) fn write(&self, content: &[u8], overwrite: Overwrite) -> Result<(), RootError> {
        let (taking, keep) = match (overwrite, &self.there) {
            (Overwrite::Yes, there) => {
                (Taking::Whatever, there.as_ref().map(|facts| Keep::of_name(facts, &self.spot)))
            }
            (Overwrite::No, None) => (Taking::Free, None),
            (Overwrite::No, Some(_)) => return Err(RootError::Exists { path: self.place.asked() }),
        };
        let temp = self.temp()?;
        temp.add(content).map_err(self.fault("write"))?;
        self.settle(temp, keep.as_ref(), taking)
    }

    /// Puts `content` behind what is there.
    pub(super) fn append(&self, content: &[u8]) -> Result<(), RootError> {
        for _ in 0..TRIES {
            let source = self.source()?;
            let temp = self.temp()?;
            if let Some(source) = &source {
                self.check_size(source.facts.size(), APPEND_LIMIT)?;
                self.copy(source, &temp)?;
            }
            temp.add(content).map_err(self.fault("write"))?;
            let keep = source.as_ref().map(|source| Keep::of_file(&source.facts, &source.file));
            let taking = if source.is_some() { Taking::Whatever } else { Taking::Free };
            match self.settle(temp, keep.as_ref(), taking) {
                Err(RootError::Exists { .. }) => {}
                settled => return settled,
            }
        }
        Err(RootError::Changed { path: self.place.asked() })
    }

    /// Puts `new` in place of the only `old`, which is not empty.
    pub(super) fn edit(&self, old: &str, new: &str) -> Result<(), RootError> {
        let path = || self.place.asked();
        let source = self.source()?.ok_or_else(|| RootError::NotFound { path: path() })?;
        self.check_size(source.facts.size(), EDIT_LIMIT)?;
        let whole = Span { offset: 0, length: usize::try_from(EDIT_LIMIT).unwrap_or(usize::MAX) };
        let excerpt = read(source.file.as_fd(), &source.facts, whole).map_err(self.fault("read"))?;
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
        self.settle(temp, Some(&Keep::of_file(&source.facts, &source.file)), Taking::Whatever)
    }

    /// Opens what is at the name now. What was put there after the judgement may be a newer file, and nothing else.
    fn source(&self) -> Result<Option<Source>, RootError> {
        let path = || self.place.asked();
        let file = match openat(&self.spot.dir, &self.spot.name, LOOK | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(RootError::Changed { path: path() }),
            Err(errno) => return Err(self.fault("open")(errno)),
        };
        let facts: Facts = fstat(&file).map_err(self.fault("look at"))?.into();
        match facts.kind() {
            FileKind::Regular => {}
            FileKind::Directory => return Err(RootError::IsADirectory { path: path() }),
            FileKind::Special | FileKind::Missing => return Err(RootError::NotAFile { path: path() }),
        }
        let judged = self.there.is_some_and(|there| there.id() == facts.id());
        if !judged && facts.has_other_names() {
            // It may be the other name of something Protected, and nobody has looked.
            return Err(RootError::Changed { path: path() });
        }
        Ok(Some(Source { file, facts }))
    }

    fn check_size(&self, size: u64, limit: u64) -> Result<(), RootError> {
        if size <= limit {
            return Ok(());
        }
        Err(RootError::TooLarge { path: self.place.asked(), size, limit })
    }

    /// Copies a file into a new one, inside the kernel where that works.
    fn copy(&self, source: &Source, temp: &Temp<'_>) -> Result<(), RootError> {
        let mut copied = 0;
        loop {
            self.check_size(copied, APPEND_LIMIT)?;
            match copy_file_range(&source.file, None, temp.file(), None, PIECE << 8) {
                Ok(0) => break,
                Ok(count) => copied += count as u64,
                Err(Errno::INTR) => {}
                Err(Errno::NOSPC | Errno::DQUOT) => return Err(self.fault("write")(Errno::NOSPC)),
                // Whatever else it does not like, plain reading and writing finds out.
                Err(_) => break,
            }
        }
        // Also the proof that the end was reached: some file systems say 0 before it is.
        let mut piece = vec![0; PIECE];
        loop {
            match read_some(&source.file, &mut piece) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    copied += count as u64;
                    self.check_size(copied, APPEND_LIMIT)?;
                    temp.add(&piece[..count]).map_err(self.fault("write"))?;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.fault("read")(errno)),
            }
        }
    }

    fn temp(&self) -> Result<Temp<'_>, RootError> {
        Temp::create(&self.spot.dir, self.scribe.pid).map_err(self.fault("write"))
    }

    /// Syncs the new file, hands on what the old one had, and gives it the name.
    fn settle(&self, temp: Temp<'_>, keep: Option<&Keep>, taking: Taking) -> Result<(), RootError> {
        fsync(temp.file()).map_err(self.fault("sync"))?;
        if let Some(keep) = keep {
            // Last of all, so that whatever a kill leaves behind is 0600 and can be swept.
            keep.apply(temp.file(), &self.spot.dir_facts, self.scribe)
                .map_err(self.fault("keep the mode of"))?;
        }
        temp.take(&self.spot.name, taking).map_err(self.fault("replace"))?;
        parents::sync(&self.spot.dir).map_err(self.fault("sync the directory of"))?;
        sweep(&self.spot.dir, &self.spot.dir_facts, self.scribe);
        Ok(())
    }

    fn fault(&self, verb: &'static str) -> impl Fn(Errno) -> RootError {
        self.place.fault(verb)
    }
}
