//! The head that is kept outside the ledger's directory: `<home>/state/ledger-head`.
//!
//! It is written after its records are synced. So it may be behind the ledger and never ahead of
//! it: a ledger without the record that it names was emptied, rolled back or replaced.

use super::chain::ChainHead;
use super::error::LedgerError;
use super::files::{BACKUP, Files, OUTSIDE_HEAD, OpenMode};
use super::head::{Head, HeadState};
use super::record::Record;
use crate::os_file::FileExt;
use std::path::{Path, PathBuf};

/// How much of a segment is read to find a record at an offset: what most lines need, else the
/// longest line.
const WINDOWS: [u64; 2] = [16 << 10, super::encode::MAX_LINE as u64];

/// The directory of the head.
#[derive(Debug)]
pub(super) struct OutsideHead {
    files: Files,
}

impl OutsideHead {
    /// In this directory, which is created if need be.
    pub(super) fn create(dir: &Path) -> Result<Self, LedgerError> {
        Ok(Self { files: Files::create(dir)? })
    }

    /// In this directory; `None` when there is none.
    pub(super) fn open(dir: &Path) -> Result<Option<Self>, LedgerError> {
        Ok(Files::open(dir)?.map(|files| Self { files }))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.files.path().join(OUTSIDE_HEAD)
    }

    pub(super) fn read(&self) -> Result<HeadState, LedgerError> {
        match self.files.outside_head(OpenMode::Read)? {
            None => Ok(HeadState::Empty),
            Some(file) => HeadState::read_unlocked(&file).map_err(LedgerError::io("read", &self.path())),
        }
    }

    /// Writes the head. The caller holds the ledger's lock, and the records are synced.
    pub(super) fn write(&self, head: &Head) -> Result<(), LedgerError> {
        let path = self.path();
        let gone = || LedgerError::Replaced { path: path.clone() };
        let file = self.files.outside_head(OpenMode::Create)?.ok_or_else(gone)?;
        file.write_all_at(head.encode().as_bytes(), 0).map_err(LedgerError::io("write", &path))?;
        file.sync_data().map_err(LedgerError::io("sync", &path))
    }
}

impl OutsideHead {
    /// Copies the `HEAD` of the first version before it is changed; the path of the copy.
    pub(super) fn back_up(&self, head: &Head) -> Result<PathBuf, LedgerError> {
        let path = self.files.path().join(BACKUP);
        let gone = || LedgerError::Replaced { path: path.clone() };
        let file = self.files.backup(OpenMode::Create)?.ok_or_else(gone)?;
        file.write_all_at(head.encode().as_bytes(), 0).map_err(LedgerError::io("write", &path))?;
        file.sync_data().map_err(LedgerError::io("sync", &path))?;
        Ok(path)
    }
}

/// What does not fit between a ledger that ends in `end` and the head outside; `None` when all
/// does.
pub(super) fn misfit(ledger: &Files, end: &Head, outside: &HeadState) -> Result<Option<String>, LedgerError> {
    let kept = match outside {
        HeadState::Foreign => {
            return Ok(Some(format!("`state/{OUTSIDE_HEAD}` is not a valid head of a ledger")));
        }
        HeadState::Empty if end.kept => return Ok(Some(format!("`state/{OUTSIDE_HEAD}` is not there"))),
        HeadState::Empty => return segments_misfit(ledger, end),
        HeadState::Head(kept) => kept,
    };
    if kept.last.seq > end.last.seq {
        return Ok(Some(behind(kept.last.seq, end.last.seq)));
    }
    if kept.last.seq > 0 && record_at(ledger, kept)? != Some(kept.last) {
        return Ok(Some(format!("record {} is not the one that was written", kept.last.seq)));
    }
    segments_misfit(ledger, end)
}

/// The sentence about a ledger that lacks records.
pub(super) fn behind(kept: u64, last: u64) -> String {
    match last {
        0 => format!("it had {kept} records and is empty"),
        _ => format!("it had {kept} records, and the last one there is {last}: it is an older copy"),
    }
}

/// Whether there is a segment that no writer made, or one that does not continue the one before.
fn segments_misfit(ledger: &Files, end: &Head) -> Result<Option<String>, LedgerError> {
    let listing = ledger.list()?;
    if let Some(name) = listing.foreign {
        return Ok(Some(format!("`{name}` is not one of its segments")));
    }
    for (expected, number) in (1..).zip(&listing.numbers) {
        let segment = ledger.segment(*number, OpenMode::Read)?;
        let length = segment.and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        // A writer that was killed may have left the next segment, empty.
        if *number != expected || (*number > end.segment && length > 0) {
            return Ok(Some(format!("segment {number} is not one that a writer made")));
        }
    }
    for number in 2..=end.segment.min(listing.numbers.len() as u64) {
        let (Some(first), Some(last)) = (first_record(ledger, number)?, last_record(ledger, number - 1)?)
        else {
            continue;
        };
        if first.prev != last.hash {
            return Ok(Some(format!("segment {number} does not continue segment {}", number - 1)));
        }
    }
    Ok(None)
}

/// The record that ends where `head` says.
fn record_at(ledger: &Files, head: &Head) -> Result<Option<ChainHead>, LedgerError> {
    let record = match (head.length, head.segment) {
        (0, segment) if segment > 1 => last_record(ledger, segment - 1)?,
        (0, _) => None,
        (length, segment) => record_before(ledger, segment, length)?,
    };
    let hash = |record: &Record| super::chain::Hash::parse(&record.hash);
    Ok(record.and_then(|record| Some(ChainHead { seq: record.seq, hash: hash(&record)? })))
}

fn last_record(ledger: &Files, segment: u64) -> Result<Option<Record>, LedgerError> {
    let Some(file) = ledger.segment(segment, OpenMode::Read)? else { return Ok(None) };
    let length = file.metadata().map_err(LedgerError::io("inspect", &ledger.segment_path(segment)))?.len();
    record_before(ledger, segment, length)
}

/// The record whose line ends at `end`.
fn record_before(ledger: &Files, segment: u64, end: u64) -> Result<Option<Record>, LedgerError> {
    for window in WINDOWS {
        let start = end.saturating_sub(window);
        let bytes = read(ledger, segment, start, end)?;
        let Some(line) = bytes.strip_suffix(b"\n") else { return Ok(None) };
        match line.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => return Ok(Record::parse(&line[at + 1..]).ok()),
            None if start == 0 => return Ok(Record::parse(line).ok()),
            None => {}
        }
    }
    Ok(None)
}

fn first_record(ledger: &Files, segment: u64) -> Result<Option<Record>, LedgerError> {
    for window in WINDOWS {
        let bytes = read(ledger, segment, 0, window)?;
        if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            return Ok(Record::parse(&bytes[..end]).ok());
        }
    }
    Ok(None)
}

/// The bytes of a segment from `start` to `end`, as far as there are any.
fn read(ledger: &Files, segment: u64, start: u64, end: u64) -> Result<Vec<u8>, LedgerError> {
    let Some(file) = ledger.segment(segment, OpenMode::Read)? else { return Ok(Vec::new()) };
    let path = ledger.segment_path(segment);
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], start + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(why) => return Err(LedgerError::io("read", &path)(why)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
