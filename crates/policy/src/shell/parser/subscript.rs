//! `[…]` after the name of an array.
//!
//! An index is arithmetic, where single quotes hide nothing; a key of an associative array is a
//! string, where they do. The text does not show which it is, so only what is the same for both is
//! accepted.

use super::brackets::Pair;
use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::word_builder::WordBuilder;
use crate::shell::{Arithmetic, Piece, PieceKind, Quoting, Subscript};

impl Parser<'_> {
    /// At `[`: up to and over its `]`.
    pub(super) fn subscript(&mut self, frame: Frame, start: usize) -> ParseResult<Subscript> {
        self.bash_only("an array", start)?;
        self.bump();
        for (text, whole) in [("@]", Subscript::All), ("*]", Subscript::Joined)] {
            if self.eat(text) {
                return Ok(whole);
            }
        }
        self.nested(|parser| parser.index(frame, start)).map(Subscript::Index)
    }

    fn index(&mut self, frame: Frame, start: usize) -> ParseResult<Arithmetic> {
        let from = self.skip_continuations();
        let mut parts = WordBuilder::new(Quoting::Body);
        let mut open = 0_usize;
        loop {
            let at = self.skip_continuations();
            match self.peek() {
                Some(b'[') => open += 1,
                Some(b']') if open == 0 => break,
                Some(b']') => open -= 1,
                _ => {}
            }
            match self.peek() {
                None | Some(b'\n' | b'\\' | b'{' | b'}') => {
                    return self.refuse("a subscript that is not plain", start);
                }
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    return self.refuse("a process substitution in a subscript", start);
                }
                Some(b'\'') => self.quoted_key(&mut parts, start)?,
                Some(b'"') if matches!(frame, Frame::Body | Frame::Locale) => {
                    let text = self.plain_double_quoted("a subscript")?;
                    parts.push(self, at, Quoting::Double, PieceKind::Literal(text));
                }
                Some(b'"') => {
                    let pieces = self.evaluated_string(start)?;
                    parts.extend(self, pieces);
                }
                Some(b'$') if matches!(self.peek_at(1), Some(b'\'' | b'"')) => {
                    return self.refuse("a `$` before a quote in a subscript", start);
                }
                Some(b'$') => self.dollar(&mut parts, Frame::Body)?,
                Some(b'`') => self.backticks(&mut parts, Frame::Body)?,
                Some(_) => {
                    parts.text(at, self.bump_char());
                    continue;
                }
            }
            self.balanced(Pair::Brackets, at)?;
        }
        let span = self.span(from);
        self.bump();
        Ok(Arithmetic { span, pieces: parts.pieces(self)? })
    }

    /// At `"`: a string that is evaluated after quote removal, so that a backslash hides nothing.
    pub(super) fn evaluated_string(&mut self, start: usize) -> ParseResult<Vec<Piece>> {
        let from = self.skip_continuations();
        let pieces = self.double_quoted(Frame::Double)?;
        if self.source.text().get(from..self.at).is_some_and(|text| text.contains('\\')) {
            return self.refuse("a backslash in a string that is evaluated", start);
        }
        Ok(pieces)
    }

    /// A key in single quotes that means the same with and without them.
    fn quoted_key(&mut self, parts: &mut WordBuilder, start: usize) -> ParseResult<()> {
        let at = self.skip_continuations();
        let text = self.single_quoted()?;
        if text.contains(['$', '`', '\\', '"', '[', ']', '{', '}', '<', '>', '\n']) {
            return self.refuse("a key in single quotes that an index would expand", start);
        }
        parts.push(self, at, Quoting::Single, PieceKind::Literal(text));
        Ok(())
    }
}
