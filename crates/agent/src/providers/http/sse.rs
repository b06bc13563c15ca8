//! Event streams, as the HTML standard writes them: lines of `data:`, a blank line after each event.
//!
//! Lines end in LF, CR or both. Names, ids and comments say nothing that the wire formats need.
//!
//! Invariant: no line and no event takes more than its bound, however the bytes are cut into packets.

use super::dialect::malformed;
use crate::providers::provider::ProviderError;
use std::collections::VecDeque;

/// The longest line, and the longest event: a tool call may carry a whole file.
const MOST: usize = 4 << 20;

/// What some editors put before the first line.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Finds the events in a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    last: Last,
    lines: u64,
    ready: VecDeque<String>,
}

/// The last byte, as far as it matters: CR LF is one end of a line.
#[derive(Debug, Default, PartialEq, Eq)]
enum Last {
    Return,
    #[default]
    Other,
}

impl Events {
    /// Takes the next bytes, wherever they were cut.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<(), ProviderError> {
        if self.last == Last::Return && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
        }
        if !bytes.is_empty() {
            self.last = Last::Other;
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.grow(&bytes[..end])?;
            self.end_line()?;
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_return && bytes.first() == Some(&b'\n') {
                bytes = &bytes[1..];
            } else if is_return && bytes.is_empty() {
                self.last = Last::Return;
            }
        }
        self.grow(bytes)
    }

    /// The next whole event.
    pub(super) fn pop(&mut self) -> Option<String> {
        self.ready.pop_front()
    }

    /// The stream is over: what stands there without its blank line.
    pub(super) fn rest(&mut self) -> Result<Option<String>, ProviderError> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.end_event()?;
        Ok(self.ready.pop_back())
    }

    fn grow(&mut self, piece: &[u8]) -> Result<(), ProviderError> {
        if self.line.len() + piece.len() > MOST {
            return Err(malformed(format_args!("a line of the stream is longer than {MOST} bytes")));
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), ProviderError> {
        let mut line = std::mem::take(&mut self.line);
        self.lines += 1;
        if self.lines == 1 && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            return self.end_event();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        if field == b"data" {
            let value = value.strip_prefix(b":").unwrap_or(value);
            let value = value.strip_prefix(b" ").unwrap_or(value);
            self.add(value)?;
        }
        // The line's room is used again.
        line.clear();
        self.line = line;
        Ok(())
    }

    fn add(&mut self, value: &[u8]) -> Result<(), ProviderError> {
        match &mut self.data {
            Some(data) if data.len() + value.len() >= MOST => {
                return Err(malformed(format_args!("an event of the stream is longer than {MOST} bytes")));
            }
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        Ok(())
    }

    fn end_event(&mut self) -> Result<(), ProviderError> {
        let Some(data) = self.data.take() else { return Ok(()) };
        let text = String::from_utf8(data).map_err(|_| malformed("the stream is not UTF-8"))?;
        if !text.is_empty() {
            self.ready.push_back(text);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::provider::Class;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_do_not_change_what_is_read(
            stream in prop::collection::vec(prop::sample::select(b"data: x\r\n\xef\xbb\xbf\xc3\xa9{}".to_vec()), 0..80),
            size in 1..20_usize,
        ) {
            prop_assert_eq!(events(&stream, size), events(&stream, 1000));
        }
    }

    /// Everything in `stream`, given in packets of `size` bytes.
    fn events(stream: &[u8], size: usize) -> Result<(Vec<String>, Option<String>), ProviderError> {
        let mut reader = Events::default();
        let mut found = Vec::new();
        for packet in stream.chunks(size) {
            reader.push(packet)?;
            while let Some(event) = reader.pop() {
                found.push(event);
            }
        }
        Ok((found, reader.rest()?))
    }

    #[test]
    fn events_are_found_however_lines_end_and_packets_are_cut() {
        for (why, stream, want, rest) in [
            ("line feeds", "data: a\n\ndata: b\n\n", &["a", "b"][..], None),
            ("both", "data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"], None),
            ("returns", "data: a\r\rdata: b\r\r", &["a", "b"], None),
            ("several lines of one event", "data: a\ndata: b\ndata:\n\n", &["a\nb\n"], None),
            ("only one space goes", "data:  a\n\ndata:b\n\n", &[" a", "b"], None),
            ("comments and other fields", ": hi\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"], None),
            ("a mark at the beginning", "\u{feff}data: a\n\n", &["a"], None),
            ("an event without data", "event: ping\n\ndata\n\ndata: a\n\n", &["a"], None),
            ("words that are no field", "garbage\n<html>\n\ndatax: a\n\n", &[], None),
            ("letters of several bytes", "data: é🦀\n\n", &["é🦀"], None),
            ("cut off in an event", "data: a\n\ndata: b\n", &["a"], Some("b")),
            ("cut off in a line", "data: a\n\ndata: {\"b", &["a"], Some("{\"b")),
            ("nothing at all", "", &[], None),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                let (found, left) = events(stream.as_bytes(), size).unwrap();
                assert_eq!(found, want, "{why}, packets of {size}");
                assert_eq!(left.as_deref(), rest, "{why}, packets of {size}");
            }
        }
    }

    #[test]
    fn what_is_no_text_or_has_no_end_is_malformed() {
        let line = [b"data: ", &vec![b'a'; MOST][..]].concat();
        let event = [b"data: ", &vec![b'a'; MOST / 2][..], b"\n"].concat().repeat(3);
        for (why, stream) in [
            ("not UTF-8", &b"data: \xff\xfe\n\n"[..]),
            ("a line without an end", &line),
            ("an event without an end", &event),
        ] {
            assert_eq!(events(stream, 1 << 16).unwrap_err().class, Class::Malformed, "{why}");
        }
    }
}
