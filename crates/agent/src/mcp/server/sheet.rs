//! A sheet of paper: what is written gathers on it and leaves when it is full, so that the reader can begin
//! before the writer has ended, and a long answer is never there as a whole.
//!
//! Invariant: what leaves is what was written, in order; texts are spelled as `serde_json` spells them.

use std::io::{self, Write};

/// How much a sheet holds: what a pipe takes at once.
const SIZE: usize = 64 << 10;

/// The least room that is worth beginning with.
const LEAST: usize = 512;

/// A byte may become an escape of six.
const GROWTH: usize = 6;

/// Bytes that are looked at and copied in one step.
const WORD: usize = 8;

/// The paper, used again and again.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    paper: Vec<u8>,
    written: usize,
}

impl Sheet {
    /// Begins an answer that goes to `out`.
    pub(super) fn begin<'s>(&'s mut self, out: &'s mut dyn Write) -> Pen<'s> {
        self.written = 0;
        self.paper.resize(SIZE, 0);
        Pen { sheet: self, out }
    }
}

/// Writes on a sheet.
pub(super) struct Pen<'s> {
    sheet: &'s mut Sheet,
    out: &'s mut dyn Write,
}

impl Pen<'_> {
    /// What is between the quotes of a JSON string.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let room = self.room()?;
            // As much as fits however it is spelled, and a word more, so that no step has to look for room.
            let (now, later) = rest.split_at(rest.len().min((room.len() - WORD) / GROWTH));
            self.sheet.written += spell(now, room);
            rest = later;
        }
        Ok(())
    }

    /// The rest leaves.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.turn_over()?;
        self.out.flush()
    }

    fn room(&mut self) -> io::Result<&mut [u8]> {
        if self.sheet.paper.len() - self.sheet.written < LEAST {
            self.turn_over()?;
        }
        Ok(&mut self.sheet.paper[self.sheet.written..])
    }

    fn turn_over(&mut self) -> io::Result<()> {
        let full = &self.sheet.paper[..self.sheet.written];
        self.sheet.written = 0;
        self.out.write_all(full)
    }
}

/// As it is, without quotes and escapes.
impl Write for Pen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.sheet.paper.len() - self.sheet.written < bytes.len() {
            self.turn_over()?;
        }
        let room = &mut self.sheet.paper[self.sheet.written..];
        let taken = bytes.len().min(room.len());
        room[..taken].copy_from_slice(&bytes[..taken]);
        self.sheet.written += taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Spells a text at the beginning of `room`, and says how long it got.
fn spell(mut text: &[u8], room: &mut [u8]) -> usize {
    let mut length = 0;
    while let (Some(word), Some(copy)) = (text.first_chunk(), room[length..].first_chunk_mut()) {
        // The whole word is copied; what is behind the first byte that needs an escape is written over.
        *copy = *word;
        let plain = plain_bytes(*word);
        length += plain;
        match text.get(plain) {
            Some(byte) if plain < WORD => {
                length += spell_byte(*byte, &mut room[length..]);
                text = &text[plain + 1..];
            }
            _ => text = &text[WORD..],
        }
    }
    text.iter().fold(length, |length, byte| length + spell_byte(*byte, &mut room[length..]))
}

/// How many bytes come before the first quote, backslash or control character.
#[inline]
fn plain_bytes(word: [u8; WORD]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    // A byte that is smaller borrows from its highest bit; what it borrows from a byte further up changes nothing here.
    let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word & HIGH;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let special = below(word, 0x20) | is(b'"') | is(b'\\');
    special.trailing_zeros() as usize / 8
}

/// Spells one byte at the beginning of `room`, and says how long it got.
#[inline]
fn spell_byte(byte: u8, room: &mut [u8]) -> usize {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0..0x20 => {
            let digits = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
            room[..6].copy_from_slice(&[b'\\', b'u', b'0', b'0', digits[0], digits[1]]);
            return 6;
        }
        plain => {
            room[0] = plain;
            return 1;
        }
    };
    room[..2].copy_from_slice(&[b'\\', short]);
    2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelled(text: &str) -> String {
        let (mut sheet, mut out) = (Sheet::default(), Vec::new());
        let mut pen = sheet.begin(&mut out);
        pen.write_all(b"\"").unwrap();
        pen.text(text).unwrap();
        pen.write_all(b"\"").unwrap();
        pen.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_character_is_spelled_as_serde_json_spells_it() {
        let all: String = (0..0x250).filter_map(char::from_u32).collect();
        for (why, text) in [
            ("nothing", String::new()),
            ("plain", "notes".to_owned()),
            ("every low character", all.clone()),
            ("from another offset", format!("abc{all}")),
            ("long and plain", "x".repeat(SIZE * 3 + 5)),
            ("long, and every character grows", "\u{1}".repeat(SIZE + 3)),
            ("long and wide", "😀é".repeat(SIZE / 3)),
        ] {
            assert_eq!(spelled(&text), serde_json::to_string(&text).unwrap(), "{why}");
        }
    }

    #[test]
    fn what_is_longer_than_a_sheet_arrives_whole() {
        let (mut sheet, mut out) = (Sheet::default(), Vec::new());
        let long: Vec<u8> = (0..SIZE * 2 + 7).map(|at| (at % 251) as u8).collect();
        for _ in 0..2 {
            let mut pen = sheet.begin(&mut out);
            pen.write_all(&long).unwrap();
            pen.end().unwrap();
        }
        assert_eq!(out, [long.clone(), long].concat(), "and the sheet is clean for the next");
    }

    proptest! {
        #[test]
        fn any_text_is_spelled_as_serde_json_spells_it(text in ".{0,80}|[\\x00-\\x7f]{0,80}") {
            prop_assert_eq!(spelled(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
