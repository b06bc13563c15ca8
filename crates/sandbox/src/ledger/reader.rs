//! Reads records back: all of them, the last ones, or the ones to come. Takes no lock and creates
//! nothing.

use super::chain::ChainHead;
use super::chain_reader::TOO_LONG;
use super::encode::MAX_LINE;
use super::error::LedgerError;
use super::files::{Files, OpenMode};
use super::head::HeadState;
use super::record::Record;
use crate::bounded_lines::{Line, LineReader};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// An existing ledger, to be read.
#[derive(Debug)]
pub struct Reader {
    files: Files,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The number of its segment.
    pub segment: u64,
    /// Its line in it, from 1.
    pub line: u64,
    /// The line as written. If the ledger wrote it, it is JSON without characters that a terminal
    /// acts on.
    pub text: String,
    /// The record, or why the line is none.
    pub record: Result<Record, &'static str>,
}

impl Reader {
    /// Opens the ledger in `dir`; `None` when there is none.
    pub fn open(dir: &Path) -> Result<Option<Self>, LedgerError> {
        Ok(Files::open(dir)?.map(|files| Self { files }))
    }

    /// The last record, according to `HEAD`.
    pub fn head(&self) -> Result<Option<ChainHead>, LedgerError> {
        let Some(file) = self.files.head(OpenMode::Read)? else { return Ok(None) };
        let path = self.files.head_path().to_owned();
        match HeadState::read_unlocked(&file).map_err(LedgerError::io("read", &path))? {
            HeadState::Empty => Ok(None),
            HeadState::Head(head) => Ok(Some(head.last)),
            HeadState::Foreign => {
                Err(LedgerError::Broken { path, what: "it is not a valid head of a ledger".to_owned() })
            }
        }
    }

    /// Every record, from the first.
    pub fn all(self) -> Result<Records, LedgerError> {
        let first = self.files.list()?.numbers.first().copied();
        Ok(Records::new(self.files, first.unwrap_or(1), 0))
    }

    /// The records from this line of this segment on.
    pub fn from_line(self, segment: u64, line: u64) -> Records {
        Records::new(self.files, segment, line.saturating_sub(1))
    }

    /// The last `count` records, and whatever is added after them.
    pub fn last(self, count: u64) -> Result<Records, LedgerError> {
        let numbers = self.files.list()?.numbers;
        let (mut first, mut lines) = (numbers.last().copied().unwrap_or(1), 0);
        for number in numbers.into_iter().rev() {
            first = number;
            lines += self.count(number)?;
            if lines >= count {
                break;
            }
        }
        Ok(Records::new(self.files, first, lines.saturating_sub(count)))
    }

    fn count(&self, number: u64) -> Result<u64, LedgerError> {
        let Some(file) = self.files.segment(number, OpenMode::Read)? else { return Ok(0) };
        let mut lines = line_reader(file);
        let path = self.files.segment_path(number);
        while lines.next_line().map_err(LedgerError::io("read", &path))?.is_some() {}
        Ok(lines.count())
    }
}

/// A sequence of records. At the end `next` returns `None`, and a record again once one was
/// appended.
#[derive(Debug)]
pub struct Records {
    files: Files,
    segment: u64,
    lines: Option<LineReader<BufReader<File>>>,
    skip: u64,
    /// The next segment exists: this one is read to its end once more, then left.
    leaving: bool,
}

impl Records {
    fn new(files: Files, segment: u64, skip: u64) -> Self {
        Self { files, segment, lines: None, skip, leaving: false }
    }

    /// The next complete line.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator that ends stays ended; this one may go on"
    )]
    pub fn next(&mut self) -> Result<Option<Stored>, LedgerError> {
        loop {
            if self.lines.is_none() {
                self.lines = self.files.segment(self.segment, OpenMode::Read)?.map(line_reader);
            }
            let Some(lines) = &mut self.lines else { return Ok(None) };
            let line = lines.next_line();
            let line = line.map_err(LedgerError::io("read", &self.files.segment_path(self.segment)))?;
            let (text, record) = match line {
                Some(Line::Whole(line)) => {
                    (String::from_utf8_lossy(&line).into_owned(), Record::parse(&line))
                }
                Some(Line::TooLong { .. }) => (String::new(), Err(TOO_LONG)),
                None => {
                    if self.leaving {
                        self.segment += 1;
                        self.lines = None;
                    } else if self.files.segment(self.segment + 1, OpenMode::Read)?.is_none() {
                        return Ok(None);
                    }
                    self.leaving = !self.leaving;
                    continue;
                }
            };
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            return Ok(Some(Stored { segment: self.segment, line: lines.count(), text, record }));
        }
    }
}

fn line_reader(segment: File) -> LineReader<BufReader<File>> {
    LineReader::new(BufReader::with_capacity(64 << 10, segment), MAX_LINE - 1)
}
