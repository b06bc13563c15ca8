//! Along the chain, record by record, until it ends or does not fit.
//!
//! Invariant: every record that is handed out has a true hash, follows the one before and is one further.

use super::chain::{Hash, Tip};
use super::lines::{Lines, Piece};
use super::record::Record;
use std::io::{self, BufRead};

/// What the next step found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A record that fits; it is now the tip.
    Record(Tip),
    /// The file ends in the middle of a line.
    Unfinished,
    /// A line that does not fit, and why; its own `seq` if it has one.
    Bad { why: &'static str, seq: Option<u64> },
    /// The file ends.
    End,
}

/// A walk through one segment.
#[derive(Debug)]
pub(super) struct Walk<R> {
    lines: Lines<R>,
    /// The record to be followed; `None` takes the first one on trust.
    tip: Option<Tip>,
    /// The offset behind the last record that fits.
    pub(super) end: u64,
    /// The number of the line that was looked at last, from 1.
    pub(super) line: u64,
}

impl<R: BufRead> Walk<R> {
    /// A walk through `source`, which stands at `offset`, on from `tip`.
    pub(super) fn new(source: R, offset: u64, tip: Option<Tip>) -> Self {
        Self { lines: Lines::new(source, offset), tip, end: offset, line: 0 }
    }

    /// The last record that fits.
    pub(super) fn tip(&self) -> Option<Tip> {
        self.tip
    }

    /// Looks at the next line.
    pub(super) fn step(&mut self) -> io::Result<Step> {
        let line = match self.lines.next()? {
            Piece::End => return Ok(Step::End),
            Piece::Unfinished => {
                self.line = self.lines.count + 1;
                return Ok(Step::Unfinished);
            }
            Piece::TooLong => {
                self.line = self.lines.count;
                return Ok(Step::Bad { why: "it is longer than a record can be", seq: None });
            }
            Piece::Line(line) => line,
        };
        let parsed = Record::parse(line);
        let claimed = || serde_json::from_slice::<serde_json::Value>(line).ok()?.get("seq")?.as_u64();
        let step = match parsed {
            Err(why) => Step::Bad { why, seq: claimed() },
            Ok(record) => match follows(&record, self.tip) {
                Err(why) => Step::Bad { why, seq: Some(record.seq) },
                Ok(tip) => Step::Record(tip),
            },
        };
        self.line = self.lines.count;
        if let Step::Record(tip) = step {
            self.tip = Some(tip);
            self.end = self.lines.offset;
        }
        Ok(step)
    }
}

/// Whether `record` continues `tip`; the new tip if so.
fn follows(record: &Record, tip: Option<Tip>) -> Result<Tip, &'static str> {
    let hash = Hash::parse(&record.hash).ok_or("it is not a record")?;
    let prev = Hash::parse(&record.prev).ok_or("it is not a record")?;
    if let Some(tip) = tip {
        if tip.seq.checked_add(1) != Some(record.seq) {
            return Err("its number does not follow the one before");
        }
        if prev != tip.hash {
            return Err("it does not name the record before it");
        }
    }
    Ok(Tip { seq: record.seq, hash })
}
