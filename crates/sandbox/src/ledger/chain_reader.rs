//! Reads a segment record by record, as long as the chain holds.

use super::chain::{ChainHead, Hash};
use super::encode::MAX_LINE;
use super::record::Record;
use crate::bounded_lines::{Line, LineReader};
use std::io::{self, BufRead};

/// Why an over-long line is no record.
pub(super) const TOO_LONG: &str = "it is longer than a record can be";

/// What the next line of a segment is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChainStep {
    /// A record that continues the chain; it is now the head.
    Record(ChainHead),
    /// The file ends in the middle of a line.
    Unfinished,
    /// A line that does not fit, and why; its own `seq` if it has one.
    Bad { why: &'static str, seq: Option<u64> },
    /// The file ends.
    End,
}

/// Reads one segment along the chain.
#[derive(Debug)]
pub(super) struct ChainReader<R> {
    lines: LineReader<R>,
    start: u64,
    /// The record to be continued; `None` takes the first one on trust.
    head: Option<ChainHead>,
    /// The offset behind the last record that fits.
    pub(super) end: u64,
    /// The number of the line that was read last, from 1.
    pub(super) line: u64,
}

impl<R: BufRead> ChainReader<R> {
    /// Reads `source`, which stands at `offset` of its segment, on from `head`.
    pub(super) fn new(source: R, offset: u64, head: Option<ChainHead>) -> Self {
        Self { lines: LineReader::new(source, MAX_LINE - 1), start: offset, head, end: offset, line: 0 }
    }

    /// The last record that fits.
    pub(super) fn head(&self) -> Option<ChainHead> {
        self.head
    }

    /// Reads the next line.
    pub(super) fn step(&mut self) -> io::Result<ChainStep> {
        let line = self.lines.next_line()?;
        self.line = self.lines.count();
        let line = match line {
            Some(Line::Whole(line)) => line,
            Some(Line::TooLong { .. }) => return Ok(ChainStep::Bad { why: TOO_LONG, seq: None }),
            None if self.lines.is_mid_line() => {
                self.line += 1;
                return Ok(ChainStep::Unfinished);
            }
            None => return Ok(ChainStep::End),
        };
        let record = match Record::parse(&line) {
            Ok(record) => record,
            Err(why) => return Ok(ChainStep::Bad { why, seq: claimed_seq(&line) }),
        };
        match follows(&record, self.head) {
            Err(why) => Ok(ChainStep::Bad { why, seq: Some(record.seq) }),
            Ok(head) => {
                self.head = Some(head);
                self.end = self.start + self.lines.offset();
                Ok(ChainStep::Record(head))
            }
        }
    }
}

/// The `seq` of a line that is no record.
fn claimed_seq(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<serde_json::Value>(line).ok()?.get("seq")?.as_u64()
}

/// Whether `record` continues `head`; the new head if so.
fn follows(record: &Record, head: Option<ChainHead>) -> Result<ChainHead, &'static str> {
    let hash = Hash::parse(&record.hash).ok_or("it is not a record")?;
    let prev = Hash::parse(&record.prev).ok_or("it is not a record")?;
    if let Some(head) = head {
        if head.seq.checked_add(1) != Some(record.seq) {
            return Err("its number does not follow the one before");
        }
        if prev != head.hash {
            return Err("it does not name the record before it");
        }
    }
    Ok(ChainHead { seq: record.seq, hash })
}
