//! Output of bounded size: the head and the tail are kept, the middle is counted.

use std::collections::VecDeque;

/// How much of a stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimit {
    /// Bytes kept from the beginning.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
}

impl Default for OutputLimit {
    fn default() -> Self {
        Self { head: 64 << 10, tail: 64 << 10 }
    }
}

/// Collects a stream within an [`OutputLimit`].
#[derive(Debug)]
pub struct HeadTail {
    limit: OutputLimit,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TruncatedOutput {
    /// The beginning; the whole stream when nothing was omitted.
    pub head: Vec<u8>,
    /// The number of bytes omitted between head and tail.
    pub omitted: u64,
    /// The end; empty when nothing was omitted.
    pub tail: Vec<u8>,
}

impl HeadTail {
    /// An empty collector.
    pub fn new(limit: OutputLimit) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Adds more of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limit.head.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.limit.tail)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.limit.tail);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Takes what was kept; the collector is empty afterwards.
    pub fn take(&mut self) -> TruncatedOutput {
        let taken = std::mem::replace(self, Self::new(self.limit));
        let kept = (taken.head.len() + taken.tail.len()) as u64;
        let (mut head, tail, omitted) = (taken.head, Vec::from(taken.tail), taken.total - kept);
        if omitted > 0 {
            return TruncatedOutput { head, omitted, tail };
        }
        head.extend_from_slice(&tail);
        TruncatedOutput { head, omitted, tail: Vec::new() }
    }
}

impl TruncatedOutput {
    /// Whether the stream was empty.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.omitted == 0
    }

    /// The text, with a line that counts what was omitted; bytes that are not UTF-8 become
    /// `U+FFFD`.
    pub fn to_text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.omitted > 0 {
            text.push_str(&format!("\n... ({} bytes omitted) ...\n", self.omitted));
            text.push_str(&String::from_utf8_lossy(&self.tail));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_the_middle_is_counted() {
        let limit = OutputLimit { head: 4, tail: 3 };
        for (why, pieces, want) in [
            ("nothing", &[""][..], ("", 0, "")),
            ("what fits is whole", &["abcd", "efg"], ("abcdefg", 0, "")),
            ("one too many", &["abcdefgh"], ("abcd", 1, "fgh")),
            ("byte by byte", &["a", "b", "c", "d", "e", "f", "g", "h", "i"], ("abcd", 2, "ghi")),
            ("a piece longer than both limits", &["ab", "cdefghijklmno"], ("abcd", 8, "mno")),
        ] {
            let mut collector = HeadTail::new(limit);
            pieces.iter().for_each(|piece| collector.push(piece.as_bytes()));
            let got = collector.take();
            assert_eq!((got.head, got.omitted, got.tail), (want.0.into(), want.1, want.2.into()), "{why}");
        }
    }

    #[test]
    fn taking_begins_anew() {
        let mut collector = HeadTail::new(OutputLimit { head: 2, tail: 0 });
        collector.push(b"abc");
        assert_eq!(collector.take().to_text(), "ab\n... (1 bytes omitted) ...\n");
        collector.push(b"de");
        assert_eq!(collector.take().to_text(), "de", "the cut of the first part does not stay");
    }
}
