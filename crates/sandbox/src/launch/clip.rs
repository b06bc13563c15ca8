//! Output within bounds: the beginning and the end are kept, the middle is counted.
//!
//! Invariant: a clip never holds more than its bounds, however much is pushed into it.

use std::collections::VecDeque;

/// How much of a stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes kept from the beginning.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { head: 64 << 10, tail: 64 << 10 }
    }
}

/// A stream while it is being read.
#[derive(Debug)]
pub struct Clip {
    bounds: Bounds,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    seen: u64,
}

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clipped {
    /// The beginning; all of it when nothing was left out.
    pub head: Vec<u8>,
    /// How many bytes lie between.
    pub omitted: u64,
    /// The end; empty when nothing was left out.
    pub tail: Vec<u8>,
}

impl Clip {
    /// An empty one.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, head: Vec::new(), tail: VecDeque::new(), seen: 0 }
    }

    /// Takes more of the stream in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        let room = self.bounds.head.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.bounds.tail)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.bounds.tail);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Hands out what is kept, and begins anew.
    pub fn take(&mut self) -> Clipped {
        let clip = std::mem::replace(self, Self::new(self.bounds));
        let kept = (clip.head.len() + clip.tail.len()) as u64;
        let (mut head, tail, omitted) = (clip.head, Vec::from(clip.tail), clip.seen - kept);
        if omitted > 0 {
            return Clipped { head, omitted, tail };
        }
        head.extend_from_slice(&tail);
        Clipped { head, omitted, tail: Vec::new() }
    }
}

impl Clipped {
    /// Whether there was nothing at all.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.omitted == 0
    }

    /// How long the stream was.
    pub fn total(&self) -> u64 {
        self.head.len() as u64 + self.omitted + self.tail.len() as u64
    }

    /// The text, with a line that counts what was left out; bytes that are not UTF-8 become `U+FFFD`.
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
        let bounds = Bounds { head: 4, tail: 3 };
        for (why, pieces, want) in [
            ("nothing", &[""][..], ("", 0, "")),
            ("what fits is whole", &["abcd", "efg"], ("abcdefg", 0, "")),
            ("one too many", &["abcdefgh"], ("abcd", 1, "fgh")),
            ("byte by byte", &["a", "b", "c", "d", "e", "f", "g", "h", "i"], ("abcd", 2, "ghi")),
            ("a piece longer than both bounds", &["ab", "cdefghijklmno"], ("abcd", 8, "mno")),
        ] {
            let mut clip = Clip::new(bounds);
            pieces.iter().for_each(|piece| clip.push(piece.as_bytes()));
            let got = clip.take();
            assert_eq!((got.head, got.omitted, got.tail), (want.0.into(), want.1, want.2.into()), "{why}");
        }
    }

    #[test]
    fn taking_begins_anew() {
        let mut clip = Clip::new(Bounds { head: 2, tail: 0 });
        clip.push(b"abc");
        assert_eq!(clip.take().to_text(), "ab\n... (1 bytes omitted) ...\n");
        clip.push(b"de");
        assert_eq!(clip.take().to_text(), "de", "the cut of the first part does not stay");
    }
}
