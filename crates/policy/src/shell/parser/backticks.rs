//! Backticks: the shell takes one level of backslashes away, and reads what is left as a text of its own.
//!
//! Invariant: spans inside point into the text as it was given.

use super::cursor::{Read, Reader, Source};
use super::dollar::Frame;
use super::list::Stop;
use super::word_builder::Parts;
use crate::shell::{PieceKind, Script, Substitution, SubstitutionStyle};

impl Reader<'_> {
    /// At the opening backtick.
    pub(super) fn backticks(&mut self, parts: &mut Parts, frame: Frame) -> Read<()> {
        self.one_more_piece()?;
        let start = self.settle();
        self.bump();
        let (text, places) = self.unescaped(start, frame)?;
        let script = self.deeper(|reader| {
            reader.state.substitutions += 1;
            let script: Script =
                Reader::new(Source::Copy(&text, &places), reader.state).script(Stop::Text)?;
            reader.state.substitutions -= 1;
            Ok(script)
        })?;
        let kind = PieceKind::Command(Substitution { style: SubstitutionStyle::Backticks, script });
        parts.push(self, start, frame.quoting(), kind);
        Ok(())
    }

    /// The text up to the closing backtick, and the place of each of its bytes.
    fn unescaped(&mut self, start: usize, frame: Frame) -> Read<(String, Vec<usize>)> {
        let quoted = matches!(frame, Frame::Double | Frame::Locale);
        let (mut text, mut places) = (Vec::new(), Vec::new());
        loop {
            let mut at = self.at;
            let Some(mut byte) = self.bump_raw() else {
                return self.refuse("a backtick that is never closed", start);
            };
            if byte == b'`' {
                places.push(self.source.origin(at));
                break;
            }
            if byte == b'"' && quoted && !self.is_bash() {
                return self.refuse("double quotes in backticks in double quotes", start);
            }
            if byte == b'\\' {
                match self.source.text().as_bytes().get(self.at) {
                    Some(b'\n') => return self.refuse("a line continuation in backticks", start),
                    Some(b'"') if quoted => {
                        return self.refuse("`\\\"` in backticks in double quotes", start);
                    }
                    Some(escaped @ (b'$' | b'`' | b'\\')) => {
                        (at, byte) = (self.at, *escaped);
                        self.bump_raw();
                    }
                    _ => {}
                }
            }
            text.push(byte);
            places.push(self.source.origin(at));
        }
        match String::from_utf8(text) {
            Ok(text) => Ok((text, places)),
            Err(_) => self.refuse("backticks that are not text", start),
        }
    }
}
