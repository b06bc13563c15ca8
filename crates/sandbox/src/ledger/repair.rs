//! Repairs a segment whose end is not what `HEAD` says after a crash, and refuses everything else.
//!
//! Removes only bytes that no completed append wrote, or that a power cut spoiled.

use super::chain::ChainHead;
use super::chain_reader::{ChainReader, ChainStep};
use super::error::LedgerError;
use super::files::{Files, OpenMode};
use super::head::Head;
use crate::os_file::truncate;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};

/// Finds the true end of the segment that `head` names, and cuts off what comes after it.
pub(super) fn tail(files: &Files, segment: &File, head: Head, boot: &str) -> Result<Head, LedgerError> {
    if head.boot == boot {
        after_kill(files, segment, head)
    } else {
        after_reboot(files, segment, head, boot)
    }
}

/// A writer was killed between its record and `HEAD`, or in the middle of a record.
fn after_kill(files: &Files, segment: &File, head: Head) -> Result<Head, LedgerError> {
    let path = files.segment_path(head.segment);
    let failed = || LedgerError::io("read", &path);
    if segment.metadata().map_err(failed())?.len() < head.length {
        return Err(LedgerError::Broken { path, what: "records are missing at its end".to_owned() });
    }
    let mut reader =
        ChainReader::new(at(segment, head.length).map_err(failed())?, head.length, Some(head.last));
    let unfinished = loop {
        match reader.step().map_err(failed())? {
            ChainStep::Record(_) => {}
            ChainStep::End => break false,
            ChainStep::Unfinished => break true,
            ChainStep::Bad { why, .. } => {
                return Err(LedgerError::Broken { path, what: format!("at byte {}: {why}", reader.end) });
            }
        }
    };
    if unfinished {
        truncate(segment, reader.end).map_err(LedgerError::io("repair", &path))?;
    }
    Ok(Head { last: reader.head().unwrap_or(head.last), length: reader.end, ..head })
}

/// The machine was restarted: what had not been synced may be missing or spoiled, even where the
/// length is right.
fn after_reboot(files: &Files, segment: &File, head: Head, boot: &str) -> Result<Head, LedgerError> {
    let path = files.segment_path(head.segment);
    let failed = || LedgerError::io("read", &path);
    let trusted = (head.length == 0).then_some(head.last);
    let mut reader = ChainReader::new(at(segment, 0).map_err(failed())?, 0, trusted);
    let mut seen = head.length == 0;
    let clean = loop {
        match reader.step().map_err(failed())? {
            ChainStep::Record(last) => seen |= reader.end == head.length && last == head.last,
            ChainStep::End => break true,
            ChainStep::Unfinished | ChainStep::Bad { .. } => break false,
        }
    };
    let last = match reader.head() {
        Some(last) => last,
        None => last_before(files, head.segment)?,
    };
    if !seen && (last.seq < head.synced || last.seq >= head.last.seq) {
        return Err(LedgerError::Broken {
            path,
            what: "records are missing or changed that had been synced".to_owned(),
        });
    }
    if !clean {
        truncate(segment, reader.end).map_err(LedgerError::io("repair", &path))?;
    }
    // What is read now came from the disk.
    let (length, boot) = (reader.end, boot.to_owned());
    Ok(Head { last, length, synced: last.seq, boot, ..head })
}

/// The last record of the segment before `number`.
fn last_before(files: &Files, number: u64) -> Result<ChainHead, LedgerError> {
    let Some(before) = number.checked_sub(1).filter(|before| *before > 0) else { return Ok(ChainHead::NONE) };
    let path = files.segment_path(before);
    let Some(file) = files.segment(before, OpenMode::Read)? else {
        return Err(LedgerError::Broken { path, what: "it is not there".to_owned() });
    };
    let mut reader = ChainReader::new(BufReader::new(&file), 0, None);
    while let ChainStep::Record(_) = reader.step().map_err(LedgerError::io("read", &path))? {}
    reader.head().ok_or(LedgerError::Broken { path, what: "it has no records".to_owned() })
}

fn at(mut file: &File, offset: u64) -> io::Result<BufReader<&File>> {
    file.seek(SeekFrom::Start(offset))?;
    Ok(BufReader::with_capacity(64 << 10, file))
}
