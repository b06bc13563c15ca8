//! Splits a byte stream into lines of bounded length.
//!
//! [`BoundedLines`] does no I/O: a caller feeds it what it read, blocking or asynchronously.
//! [`LineReader`] is the blocking reader.

use std::io::{self, BufRead};

/// One line of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The bytes of the line, without the line feed.
    Whole(Vec<u8>),
    /// The line exceeds the maximum. Reported once, as soon as the maximum is exceeded; the rest of
    /// the line is discarded.
    TooLong {
        /// The beginning of the line, at most as long as the maximum.
        head: Vec<u8>,
    },
}

/// An incremental line parser. It holds at most one incomplete line.
#[derive(Debug)]
pub struct BoundedLines {
    max: usize,
    partial: Vec<u8>,
    /// The current line was reported as too long; input is discarded up to the next line feed.
    discarding: bool,
}

impl BoundedLines {
    /// A parser for lines of at most `max` bytes, not counting the line feed.
    pub fn new(max: usize) -> Self {
        Self { max, partial: Vec::new(), discarding: false }
    }

    /// Adds `input` and iterates over the lines that are now known. Dropping the iterator early
    /// loses the input that it has not reached.
    pub fn push<'a>(&'a mut self, mut input: &'a [u8]) -> impl Iterator<Item = Line> + 'a {
        std::iter::from_fn(move || self.next_line(&mut input))
    }

    /// Takes one line off the front of `input`, which then begins behind it. `None` when all of
    /// `input` was consumed and the line goes on.
    pub fn next_line(&mut self, input: &mut &[u8]) -> Option<Line> {
        while !input.is_empty() {
            let line_feed = input.iter().position(|byte| *byte == b'\n');
            let (part, rest) = input.split_at(line_feed.unwrap_or(input.len()));
            *input = rest.get(1..).unwrap_or_default();
            if self.discarding {
                self.discarding = line_feed.is_none();
                continue;
            }
            let left = self.max - self.partial.len();
            self.partial.extend_from_slice(part.get(..left).unwrap_or(part));
            if part.len() > left {
                self.discarding = line_feed.is_none();
                return Some(Line::TooLong { head: std::mem::take(&mut self.partial) });
            }
            if line_feed.is_some() {
                return Some(Line::Whole(std::mem::take(&mut self.partial)));
            }
        }
        None
    }

    /// Whether the stream ends in the middle of a line so far.
    pub fn is_mid_line(&self) -> bool {
        self.discarding || !self.partial.is_empty()
    }

    /// Ends the stream: the last line when it has no line feed and was not reported yet.
    pub fn finish(&mut self) -> Option<Line> {
        self.discarding = false;
        let last = std::mem::take(&mut self.partial);
        (!last.is_empty()).then_some(Line::Whole(last))
    }
}

/// Reads lines from a blocking source, which may grow after its end was reached.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    lines: BoundedLines,
    consumed: u64,
    offset: u64,
    count: u64,
}

impl<R: BufRead> LineReader<R> {
    /// Lines of at most `max` bytes, not counting the line feed.
    pub fn new(source: R, max: usize) -> Self {
        Self { source, lines: BoundedLines::new(max), consumed: 0, offset: 0, count: 0 }
    }

    /// The next line; `None` at the end of the source, which may be in the middle of a line.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let buffer = match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            if buffer.is_empty() {
                return Ok(None);
            }
            let mut rest = buffer;
            let line = self.lines.next_line(&mut rest);
            let taken = buffer.len() - rest.len();
            self.source.consume(taken);
            self.consumed += taken as u64;
            if line.is_some() {
                self.offset = self.consumed;
                self.count += 1;
                return Ok(line);
            }
        }
    }

    /// The last line, when the source has ended without a line feed.
    pub fn finish(&mut self) -> Option<Line> {
        self.lines.finish()
    }

    /// Whether the source has ended in the middle of a line so far.
    pub fn is_mid_line(&self) -> bool {
        self.lines.is_mid_line()
    }

    /// The number of bytes up to the end of the last line that was returned. Behind a line that is
    /// too long, the number is only as exact as the source's buffer.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of lines that were returned.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(line: Line) -> String {
        match line {
            Line::Whole(bytes) => String::from_utf8(bytes).unwrap(),
            Line::TooLong { head } => format!("too long: {}", String::from_utf8(head).unwrap()),
        }
    }

    #[test]
    fn lines_come_out_whole_however_they_arrive() {
        for (why, pieces, want) in [
            ("in one piece", &["a\nb\n"][..], &["a", "b"][..]),
            ("in small pieces", &["a", "b", "\n", "\nc", "\n"], &["ab", "", "c"]),
            ("exactly the maximum", &["12345678\n"], &["12345678"]),
            ("one byte too many", &["123456789\nx\n"], &["too long: 12345678", "x"]),
            (
                "too long over several pieces, reported once",
                &["12345", "6789", "0123456789", "\nx\n"],
                &["too long: 12345678", "x"],
            ),
            (
                "two that are too long",
                &["123456789\n123456789\n"],
                &["too long: 12345678", "too long: 12345678"],
            ),
            ("without a line feed", &["a\nb"], &["a", "b"]),
            ("too long without a line feed", &["a\n123456789"], &["a", "too long: 12345678"]),
        ] {
            let mut got = Vec::new();
            let mut lines = BoundedLines::new(8);
            for piece in pieces {
                got.extend(lines.push(piece.as_bytes()).map(text));
            }
            got.extend(lines.finish().map(text));
            assert_eq!(got, want, "{why}");
            assert!(!lines.is_mid_line());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_before_it_ends_and_not_held() {
        let mut lines = BoundedLines::new(8);
        assert_eq!(lines.push(b"123456789").count(), 1);
        assert!(lines.is_mid_line());
        for _ in 0..1000 {
            assert_eq!(lines.push(&[b'x'; 1000]).count(), 0);
        }
        assert!(lines.partial.capacity() < 64);
        assert_eq!(lines.push(b"\nok\n").collect::<Vec<_>>(), [Line::Whole(b"ok".to_vec())]);
    }

    #[test]
    fn one_line_at_a_time_leaves_the_rest_of_the_input() {
        let mut lines = BoundedLines::new(8);
        let mut input: &[u8] = b"a\nb\nc";
        assert_eq!(lines.next_line(&mut input), Some(Line::Whole(b"a".to_vec())));
        assert_eq!(input, b"b\nc");
    }

    #[test]
    fn a_reader_counts_lines_and_bytes_and_goes_on_when_its_source_grows() {
        let long = [b"a\n".to_vec(), vec![b'x'; 30_000], b"\nb\nc".to_vec()].concat();
        let mut lines = LineReader::new(io::BufReader::with_capacity(64, &long[..]), 100);
        assert_eq!(lines.next_line().unwrap(), Some(Line::Whole(b"a".to_vec())));
        assert_eq!(lines.offset(), 2);
        assert!(matches!(lines.next_line().unwrap(), Some(Line::TooLong { .. })));
        assert_eq!(lines.next_line().unwrap(), Some(Line::Whole(b"b".to_vec())));
        assert_eq!((lines.offset(), lines.count(), lines.is_mid_line()), (30_005, 3, false));
        assert_eq!(lines.next_line().unwrap(), None);
        assert!(lines.is_mid_line());
        assert_eq!(lines.next_line().unwrap(), None);
        assert_eq!((lines.offset(), lines.count()), (30_005, 3));
        assert_eq!(lines.finish(), Some(Line::Whole(b"c".to_vec())));
    }

    proptest! {
        #[test]
        fn the_pieces_do_not_matter(stream in "[ab\n]{0,60}", size in 1usize..8) {
            let collect = |size: usize| {
                let mut lines = BoundedLines::new(5);
                let mut got: Vec<Line> = Vec::new();
                for piece in stream.as_bytes().chunks(size) {
                    got.extend(lines.push(piece));
                }
                got.extend(lines.finish());
                got
            };
            prop_assert_eq!(collect(size), collect(1000));
        }
    }
}
