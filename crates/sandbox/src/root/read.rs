//! Reading a part of a file.
//!
//! Invariant: no more memory than was asked for, and no wait: a file that has nothing to give now is an error.

use super::facts::Facts;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, Result, pread};
use std::os::fd::BorrowedFd;

/// Which part of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub offset: u64,
    /// The most bytes that are returned.
    pub length: usize,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The file's size; unknown when the file system does not say and the end was not reached.
    pub total: Option<u64>,
    /// Whether there is more after these bytes.
    pub more: More,
}

/// What follows an excerpt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// The file ends here.
    End,
    /// The file goes on.
    Follows,
}

/// The most that is set aside before the first byte has come.
const AHEAD: usize = 1 << 20;

/// Reads `span` of an open file. Sizes are hints: procfs says 0 and sysfs says 4096, whatever they hold.
pub(super) fn read(handle: BorrowedFd<'_>, facts: &Facts, span: Span) -> Result<Excerpt> {
    let rest = facts.size().saturating_sub(span.offset);
    let likely = usize::try_from(rest).unwrap_or(usize::MAX).min(span.length).min(AHEAD);
    // One byte more than is wanted tells whether the file goes on.
    let mut bytes = Vec::with_capacity(likely.saturating_add(1));
    let end_seen = loop {
        let wanted = span.length.saturating_add(1).saturating_sub(bytes.len());
        if wanted == 0 {
            break false;
        }
        if bytes.len() == bytes.capacity() {
            bytes.reserve(wanted.min(AHEAD));
        }
        let Some(at) = span.offset.checked_add(bytes.len() as u64) else { break true };
        match pread(handle, spare_capacity(&mut bytes), at) {
            Ok(0) => break true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        // A regular file that gave all it said it has needs no second question.
        if facts.size() > 0 && bytes.len() as u64 == rest && bytes.len() <= span.length {
            break true;
        }
    };
    let more = if bytes.len() > span.length { More::Follows } else { More::End };
    bytes.truncate(span.length);
    let reached = span.offset.saturating_add(bytes.len() as u64);
    let total = match more {
        // The end was seen, unless the reading began behind it.
        More::End if end_seen && (span.offset == 0 || !bytes.is_empty()) => Some(reached),
        More::End => Some(facts.size()).filter(|size| *size > 0),
        More::Follows => Some(facts.size()).filter(|size| *size > reached),
    };
    Ok(Excerpt { bytes, total, more })
}
