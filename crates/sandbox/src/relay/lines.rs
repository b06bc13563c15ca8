//! Lines out of a stream of bytes, each of bounded length.
//!
//! Invariant: a line that is too long is named once and held nowhere.

/// A line as it was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// Its bytes, without the line feed.
    Whole(&'l [u8]),
    /// Longer than is taken; the rest of it is passed over.
    TooLong,
}

/// Bytes that are no whole line yet.
#[derive(Debug)]
pub(super) struct Lines {
    most: usize,
    held: Vec<u8>,
    passing_over: bool,
}

impl Lines {
    /// Lines of at most this length.
    pub(super) fn new(most: usize) -> Self {
        Self { most, held: Vec::new(), passing_over: false }
    }

    /// Takes more bytes, and tells of each line that they end.
    pub(super) fn take(&mut self, mut bytes: &[u8], tell: &mut dyn FnMut(Line<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) =
                (bytes.get(..end).unwrap_or_default(), bytes.get(end + 1..).unwrap_or_default());
            if std::mem::take(&mut self.passing_over) {
                // The end of a line that was named before.
            } else if self.held.len() + head.len() > self.most {
                tell(Line::TooLong);
            } else if self.held.is_empty() {
                tell(Line::Whole(head));
            } else {
                self.held.extend_from_slice(head);
                tell(Line::Whole(&self.held));
            }
            self.let_go();
            bytes = rest;
        }
        if self.passing_over {
            return;
        }
        if self.held.len() + bytes.len() > self.most {
            self.passing_over = true;
            self.let_go();
            tell(Line::TooLong);
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// The stream is over: what is left is a line without its end.
    pub(super) fn end(&mut self, tell: &mut dyn FnMut(Line<'_>)) {
        if !self.held.is_empty() {
            tell(Line::Whole(&self.held));
            self.let_go();
        }
    }

    /// One long line must not hold its memory for ever.
    fn let_go(&mut self) {
        const KEPT: usize = 1 << 20;
        self.held.clear();
        self.held.shrink_to(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_however_they_arrive() {
        for (why, pieces, want) in [
            ("in one piece", &["a\nb\n"][..], &["a", "b"][..]),
            ("in small pieces", &["a", "b", "\n", "\nc", "\n"], &["ab", "", "c"]),
            ("as long as may be", &["12345678\n"], &["12345678"]),
            ("one byte too many", &["123456789\nx\n"], &["too long", "x"]),
            (
                "too long over pieces, told once",
                &["12345", "6789", "0123456789", "\nx\n"],
                &["too long", "x"],
            ),
            ("two that are too long", &["123456789\n123456789\n"], &["too long", "too long"]),
            ("without an end", &["a\nb"], &["a", "b"]),
            ("too long without an end", &["a\n123456789"], &["a", "too long"]),
        ] {
            let mut got = Vec::new();
            let mut tell = |line: Line<'_>| {
                got.push(match line {
                    Line::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                    Line::TooLong => "too long".to_owned(),
                });
            };
            let mut lines = Lines::new(8);
            for piece in pieces {
                lines.take(piece.as_bytes(), &mut tell);
            }
            lines.end(&mut tell);
            assert_eq!(got, want, "{why}");
        }
    }
}
