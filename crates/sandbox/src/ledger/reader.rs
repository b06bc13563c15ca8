//! Reading back: the last records, all of them, or whatever comes next.
//!
//! Invariant: reading takes no lock, makes nothing, and holds one record at a time.

use super::chain::Tip;
use super::error::LedgerError;
use super::files::{Files, Use};
use super::head::Found;
use super::lines::{Lines, Piece};
use super::record::Record;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// A ledger that is there, to be read.
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
    /// The line as it is written: JSON without characters that a terminal acts on, if it is ours.
    pub text: String,
    /// What it says, or why it cannot be read.
    pub record: Result<Record, &'static str>,
}

impl Reader {
    /// Opens the ledger in `dir`; `None` when there is none.
    pub fn open(dir: &Path) -> Result<Option<Self>, LedgerError> {
        Ok(Files::open(dir)?.map(|files| Self { files }))
    }

    /// The last record, as `HEAD` tells it.
    pub fn head(&self) -> Result<Option<Tip>, LedgerError> {
        let Some((file, _)) = self.files.head(Use::Read)? else { return Ok(None) };
        let path = self.files.head_path().to_owned();
        match Found::without_lock(&file).map_err(LedgerError::io("read", &path))? {
            Found::Nothing => Ok(None),
            Found::Head(head) => Ok(Some(head.tip)),
            Found::Foreign => Err(LedgerError::Broken { path, what: "its contents are not ours".to_owned() }),
        }
    }

    /// Every record, from the first.
    pub fn all(self) -> Result<Records, LedgerError> {
        let first = self.files.list()?.numbers.first().copied();
        Ok(Records::new(self.files, first.unwrap_or(1), 0))
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
        let Some((file, _)) = self.files.segment(number, Use::Read)? else { return Ok(0) };
        let mut lines = Lines::new(BufReader::with_capacity(64 << 10, file), 0);
        let path = self.files.segment_path(number);
        while !matches!(lines.next().map_err(LedgerError::io("read", &path))?, Piece::End | Piece::Unfinished)
        {
        }
        Ok(lines.count)
    }
}

/// Records, one after the other. At the end `next` answers `None`, and later perhaps a record again.
#[derive(Debug)]
pub struct Records {
    files: Files,
    segment: u64,
    lines: Option<Lines<BufReader<File>>>,
    skip: u64,
    /// The next segment is there: this one is read to its end once more, then left.
    leaving: bool,
}

impl Records {
    fn new(files: Files, segment: u64, skip: u64) -> Self {
        Self { files, segment, lines: None, skip, leaving: false }
    }

    /// The next line that is complete.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator that ends stays ended; this one may go on"
    )]
    pub fn next(&mut self) -> Result<Option<Stored>, LedgerError> {
        loop {
            if self.lines.is_none() {
                let file = self.files.segment(self.segment, Use::Read)?;
                self.lines = file.map(|(file, _)| Lines::new(BufReader::with_capacity(64 << 10, file), 0));
            }
            let Some(lines) = &mut self.lines else { return Ok(None) };
            let piece =
                lines.next().map_err(LedgerError::io("read", &self.files.segment_path(self.segment)))?;
            let (text, record) = match piece {
                Piece::Line(line) => (String::from_utf8_lossy(line).into_owned(), Record::parse(line)),
                Piece::TooLong => (String::new(), Err("it is longer than a record can be")),
                Piece::End | Piece::Unfinished => {
                    if self.leaving {
                        self.segment += 1;
                        self.lines = None;
                    } else if self.files.segment(self.segment + 1, Use::Read)?.is_none() {
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
            return Ok(Some(Stored { segment: self.segment, line: lines.count, text, record }));
        }
    }
}
