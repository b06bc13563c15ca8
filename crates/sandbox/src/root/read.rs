//! Reads a part of a file.
//!
//! Invariant: memory is bounded by the span, and a file that would block is an error.

use super::metadata::FileMeta;
use crate::os_file::{BorrowedFd, Errno, Result, pread_spare};

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
    /// The file's size, if it is known.
    pub total: Option<u64>,
    /// Whether there is more after these bytes.
    pub more: More,
}

/// Whether more follows an excerpt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// The file ends here.
    End,
    /// The file goes on.
    Follows,
}

/// The most memory that is allocated at once.
const MAX_ALLOCATION: usize = 1 << 20;

/// Reads `span` of an open file. Sizes are hints: procfs reports 0 and sysfs 4096.
pub(super) fn read(handle: BorrowedFd<'_>, meta: &FileMeta, span: Span) -> Result<Excerpt> {
    let rest = meta.size().saturating_sub(span.offset);
    let likely = usize::try_from(rest).unwrap_or(usize::MAX).min(span.length).min(MAX_ALLOCATION);
    // One byte more than wanted tells whether the file goes on.
    let mut bytes = Vec::with_capacity(likely.saturating_add(1));
    let end_seen = loop {
        let wanted = span.length.saturating_add(1).saturating_sub(bytes.len());
        if wanted == 0 {
            break false;
        }
        if bytes.len() == bytes.capacity() {
            bytes.reserve(wanted.min(MAX_ALLOCATION));
        }
        let Some(at) = span.offset.checked_add(bytes.len() as u64) else { break true };
        match pread_spare(handle, &mut bytes, at) {
            Ok(0) => break true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        // After `st_size` bytes of a regular file no second read is needed.
        if meta.size() > 0 && bytes.len() as u64 == rest && bytes.len() <= span.length {
            break true;
        }
    };
    let more = if bytes.len() > span.length { More::Follows } else { More::End };
    bytes.truncate(span.length);
    let reached = span.offset.saturating_add(bytes.len() as u64);
    let total = match more {
        // The end was reached, unless the span began behind it.
        More::End if end_seen && (span.offset == 0 || !bytes.is_empty()) => Some(reached),
        More::End => Some(meta.size()).filter(|size| *size > 0),
        More::Follows => Some(meta.size()).filter(|size| *size > reached),
    };
    Ok(Excerpt { bytes, total, more })
}
