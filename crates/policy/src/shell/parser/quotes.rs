//! `'…'` and `"…"`, after quote removal.

use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::word_builder::WordBuilder;
use crate::shell::{Piece, PieceKind};

impl Parser<'_> {
    /// At `'`: the text up to the next one.
    pub(super) fn single_quoted(&mut self) -> ParseResult<String> {
        let start = self.skip_continuations();
        self.bump();
        let rest = self.source.text().get(self.at..).unwrap_or_default();
        let Some(length) = rest.find('\'') else {
            self.at += rest.len();
            return self.refuse("a single quote that is never closed", start);
        };
        self.count(length);
        self.at += length + 1;
        Ok(rest.get(..length).unwrap_or_default().to_owned())
    }

    /// At `"`: the pieces up to the closing one. An empty string is one empty piece.
    pub(super) fn double_quoted(&mut self, frame: Frame) -> ParseResult<Vec<Piece>> {
        let start = self.skip_continuations();
        self.bump();
        let mut parts = WordBuilder::new(frame.quoting());
        loop {
            let at = self.skip_continuations();
            match self.peek() {
                None => return self.refuse("a double quote that is never closed", start),
                Some(b'"') => break,
                Some(b'\\') if matches!(self.escaped(), "$" | "`" | "\"" | "\\") => {
                    parts.text(at, self.bump_escape());
                }
                Some(b'$') => self.dollar(&mut parts, frame)?,
                Some(b'`') => self.backticks(&mut parts, frame)?,
                Some(_) => parts.text(at, self.bump_char()),
            }
        }
        self.bump();
        if parts.is_empty() {
            parts.push(self, start, frame.quoting(), PieceKind::Literal(String::new()));
        }
        parts.pieces(self)
    }

    /// At `"`: a string in which nothing is expanded or escaped.
    pub(super) fn plain_double_quoted(&mut self, place: &str) -> ParseResult<String> {
        let start = self.skip_continuations();
        self.bump();
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return self.refuse("a double quote that is never closed", start),
                Some(b'$' | b'`' | b'\\') => {
                    return self.refuse(format!("an expansion or escape in double quotes in {place}"), start);
                }
                Some(b'"') => break,
                Some(_) => text.push_str(self.bump_char()),
            }
        }
        self.bump();
        Ok(text)
    }
}
