//! A segment line by line, in bounded memory.
//!
//! Invariant: no line longer than [`MAX_LINE`] is ever held, whatever the file contains.

use super::encode::MAX_LINE;
use std::io::{self, BufRead};

/// What comes next in a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'l> {
    /// A line, without its line feed.
    Line(&'l [u8]),
    /// A line that no writer wrote; it was skipped to its end.
    TooLong,
    /// The file ends in the middle of a line; reading again later goes on where this stopped.
    Unfinished,
    /// The file ends.
    End,
}

/// Cuts a stream into lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    source: R,
    line: Vec<u8>,
    /// Whether `line` has been handed out.
    spent: bool,
    overlong: bool,
    /// The offset behind everything that was handed out.
    pub(super) offset: u64,
    /// How many lines were handed out.
    pub(super) count: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of `source`, which stands at `offset` of its file.
    pub(super) fn new(source: R, offset: u64) -> Self {
        Self { source, line: Vec::new(), spent: false, overlong: false, offset, count: 0 }
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> io::Result<Piece<'_>> {
        if std::mem::take(&mut self.spent) {
            self.line.clear();
            self.overlong = false;
        }
        loop {
            let chunk = match self.source.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                return Ok(if self.line.is_empty() && !self.overlong {
                    Piece::End
                } else {
                    Piece::Unfinished
                });
            }
            let feed = chunk.iter().position(|b| *b == b'\n');
            let taken = feed.unwrap_or(chunk.len());
            if self.overlong || self.line.len() + taken >= MAX_LINE {
                self.offset += self.line.len() as u64 + taken as u64;
                self.overlong = true;
                self.line.clear();
            } else {
                self.line.extend_from_slice(&chunk[..taken]);
            }
            self.source.consume(taken + usize::from(feed.is_some()));
            if feed.is_some() {
                self.offset += self.line.len() as u64 + 1;
                self.count += 1;
                self.spent = true;
                return Ok(if self.overlong { Piece::TooLong } else { Piece::Line(&self.line) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_counted_and_bounded() {
        let long = [b"a\n".to_vec(), vec![b'x'; 3 * MAX_LINE], b"\nb\nc".to_vec()].concat();
        let mut lines = Lines::new(io::BufReader::with_capacity(4096, &long[..]), 0);
        assert_eq!(lines.next().unwrap(), Piece::Line(b"a"));
        assert_eq!(lines.offset, 2);
        assert_eq!(lines.next().unwrap(), Piece::TooLong);
        assert_eq!(lines.offset, 3 + 3 * MAX_LINE as u64);
        assert!(lines.line.capacity() <= 2 * MAX_LINE, "the long line was held");
        assert_eq!(lines.next().unwrap(), Piece::Line(b"b"));
        assert_eq!(lines.next().unwrap(), Piece::Unfinished);
        assert_eq!(lines.next().unwrap(), Piece::Unfinished);
        assert_eq!((lines.offset, lines.count), (5 + 3 * MAX_LINE as u64, 3));
    }
}
