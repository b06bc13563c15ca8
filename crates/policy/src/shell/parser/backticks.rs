//! Backticks: the shell removes one level of backslashes and parses the rest as a separate text.
//!
//! Spans inside point into the original text.

use super::cursor::{ParseResult, Parser, Source};
use super::dollar::Frame;
use super::list::Stop;
use super::word_builder::WordBuilder;
use crate::shell::{PieceKind, Script};

impl Parser<'_> {
    /// At the opening backtick.
    pub(super) fn backticks(&mut self, parts: &mut WordBuilder, frame: Frame) -> ParseResult<()> {
        self.count_piece()?;
        let start = self.skip_continuations();
        self.bump();
        let (text, places) = self.unescaped(start, frame)?;
        let script = self.nested(|parser| {
            parser.state.substitutions += 1;
            let script: Script =
                Parser::new(Source::Copy(&text, &places), parser.state).script(Stop::Text)?;
            parser.state.substitutions -= 1;
            Ok(script)
        })?;
        parts.push(self, start, frame.quoting(), PieceKind::Command(script));
        Ok(())
    }

    /// The text up to the closing backtick, and the original offset of each byte.
    fn unescaped(&mut self, start: usize, frame: Frame) -> ParseResult<(String, Vec<usize>)> {
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
