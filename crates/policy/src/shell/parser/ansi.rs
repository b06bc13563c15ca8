//! `$'…'`: decodes escapes as bash does, or refuses the string.

use super::cursor::{ParseResult, Parser};

impl Parser<'_> {
    /// At the `'` of `$'…'`: the decoded text.
    pub(super) fn ansi_quoted(&mut self, start: usize) -> ParseResult<String> {
        self.bump();
        let mut bytes = Vec::new();
        loop {
            match self.bump_raw() {
                None => return self.refuse("a `$'` that is never closed", start),
                Some(b'\'') => break,
                Some(b'\\') => self.ansi_escape(&mut bytes, start)?,
                Some(byte) => bytes.push(byte),
            }
        }
        match String::from_utf8(bytes) {
            // Bash ends the string there, and drops what follows.
            Ok(text) if text.contains('\0') => self.refuse("a NUL in `$'…'`", start),
            Ok(text) => Ok(text),
            Err(_) => self.refuse("bytes in `$'…'` that are not UTF-8", start),
        }
    }

    fn ansi_escape(&mut self, bytes: &mut Vec<u8>, start: usize) -> ParseResult<()> {
        let Some(letter) = self.bump_raw() else {
            return self.refuse("a `$'` that is never closed", start);
        };
        match letter {
            b'a' => bytes.push(0x07),
            b'b' => bytes.push(0x08),
            b'e' | b'E' => bytes.push(0x1b),
            b'f' => bytes.push(0x0c),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'v' => bytes.push(0x0b),
            b'\\' | b'\'' | b'"' | b'?' => bytes.push(letter),
            b'0'..=b'7' => bytes.push(self.octal(letter)),
            b'x' => self.hexadecimal(bytes, start)?,
            b'u' => self.code_point(bytes, 4, start)?,
            b'U' => self.code_point(bytes, 8, start)?,
            b'c' => return self.refuse("a control escape in `$'…'`", start),
            // An unknown escape keeps its backslash.
            _ => bytes.extend([b'\\', letter]),
        }
        Ok(())
    }

    fn octal(&mut self, first: u8) -> u8 {
        let mut value = u32::from(first - b'0');
        for _ in 0..2 {
            let Some(digit) = self.raw_digit(8) else { break };
            value = value * 8 + digit;
        }
        // Bash keeps eight bits.
        (value & 0xff) as u8
    }

    fn hexadecimal(&mut self, bytes: &mut Vec<u8>, start: usize) -> ParseResult<()> {
        let mut value = 0;
        let mut digits = 0;
        while digits < 2 {
            let Some(digit) = self.raw_digit(16) else { break };
            value = value * 16 + digit;
            digits += 1;
        }
        if digits == 0 {
            return self.refuse("`\\x` without digits in `$'…'`", start);
        }
        bytes.push((value & 0xff) as u8);
        Ok(())
    }

    fn code_point(&mut self, bytes: &mut Vec<u8>, most: usize, start: usize) -> ParseResult<()> {
        let mut value = 0_u32;
        let mut digits = 0;
        while digits < most {
            let Some(digit) = self.raw_digit(16) else { break };
            value = value * 16 + digit;
            digits += 1;
        }
        let Some(c) = char::from_u32(value).filter(|_| digits > 0) else {
            return self.refuse("a code point in `$'…'` that does not exist", start);
        };
        bytes.extend(c.to_string().bytes());
        Ok(())
    }

    fn raw_digit(&mut self, radix: u32) -> Option<u32> {
        let next = self.source.text().as_bytes().get(self.at).copied()?;
        let digit = char::from(next).to_digit(radix)?;
        self.bump_raw();
        Some(digit)
    }
}
