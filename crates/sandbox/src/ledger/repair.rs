//! A tail that is not what `HEAD` says: put in order what a sudden end left, refuse everything else.
//!
//! Invariant: only bytes that no finished append wrote, or that a power cut spoiled, are ever removed.

use super::chain::Tip;
use super::error::LedgerError;
use super::files::{Files, Use};
use super::head::Head;
use super::walk::{Step, Walk};
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};

/// Finds the true end of the segment that `head` names, and cuts off what comes after it.
pub(super) fn tail(files: &Files, segment: &File, head: Head, boot: &str) -> Result<Head, LedgerError> {
    if head.boot == boot { after_kill(files, segment, head) } else { after_start(files, segment, head, boot) }
}

/// A writer ended between its record and `HEAD`, or in the middle of a record.
fn after_kill(files: &Files, segment: &File, head: Head) -> Result<Head, LedgerError> {
    let path = files.segment_path(head.segment);
    let failed = || LedgerError::io("read", &path);
    if segment.metadata().map_err(failed())?.len() < head.length {
        return Err(LedgerError::Broken { path, what: "records are missing at its end".to_owned() });
    }
    let mut walk = Walk::new(at(segment, head.length).map_err(failed())?, head.length, Some(head.tip));
    let unfinished = loop {
        match walk.step().map_err(failed())? {
            Step::Record(_) => {}
            Step::End => break false,
            Step::Unfinished => break true,
            Step::Bad { why, .. } => {
                return Err(LedgerError::Broken { path, what: format!("at byte {}: {why}", walk.end) });
            }
        }
    };
    if unfinished {
        segment.set_len(walk.end).map_err(LedgerError::io("repair", &path))?;
    }
    Ok(Head { tip: walk.tip().unwrap_or(head.tip), length: walk.end, ..head })
}

/// The machine was started anew: what had not been synced may be gone or spoiled, even where the length is right.
fn after_start(files: &Files, segment: &File, head: Head, boot: &str) -> Result<Head, LedgerError> {
    let path = files.segment_path(head.segment);
    let failed = || LedgerError::io("read", &path);
    let trusted = (head.length == 0).then_some(head.tip);
    let mut walk = Walk::new(at(segment, 0).map_err(failed())?, 0, trusted);
    let mut seen = head.length == 0;
    let clean = loop {
        match walk.step().map_err(failed())? {
            Step::Record(tip) => seen |= walk.end == head.length && tip == head.tip,
            Step::End => break true,
            Step::Unfinished | Step::Bad { .. } => break false,
        }
    };
    let tip = match walk.tip() {
        Some(tip) => tip,
        None => last_before(files, head.segment)?,
    };
    if !seen && (tip.seq < head.synced || tip.seq >= head.tip.seq) {
        return Err(LedgerError::Broken {
            path,
            what: "records are missing or changed that had been synced".to_owned(),
        });
    }
    if !clean {
        segment.set_len(walk.end).map_err(LedgerError::io("repair", &path))?;
    }
    // What is read now came from the disk.
    Ok(Head { tip, segment: head.segment, length: walk.end, synced: tip.seq, boot: boot.to_owned() })
}

/// The last record of the segment before `number`.
fn last_before(files: &Files, number: u64) -> Result<Tip, LedgerError> {
    let Some(before) = number.checked_sub(1).filter(|before| *before > 0) else { return Ok(Tip::NONE) };
    let path = files.segment_path(before);
    let Some((file, _)) = files.segment(before, Use::Read)? else {
        return Err(LedgerError::Broken { path, what: "it is not there".to_owned() });
    };
    let mut walk = Walk::new(BufReader::new(&file), 0, None);
    while let Step::Record(_) = walk.step().map_err(LedgerError::io("read", &path))? {}
    walk.tip().ok_or(LedgerError::Broken { path, what: "it has no records".to_owned() })
}

fn at(mut file: &File, offset: u64) -> io::Result<BufReader<&File>> {
    file.seek(SeekFrom::Start(offset))?;
    Ok(BufReader::with_capacity(64 << 10, file))
}
