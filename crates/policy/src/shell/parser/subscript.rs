//! `[…]` behind the name of an array.
//!
//! An index is arithmetic, where single quotes hide nothing; a key of an associative array is a string, where they
//! do. The text does not say which it is, so only what is the same for both is accepted.
//!
//! Invariant: whatever a subscript expands is in its pieces.

use super::brackets::Pair;
use super::cursor::{Read, Reader};
use super::dollar::Frame;
use super::word_builder::Parts;
use crate::shell::{Arithmetic, Piece, PieceKind, Quoting, Subscript};

impl Reader<'_> {
    /// At `[`: up to and over its `]`.
    pub(super) fn subscript(&mut self, frame: Frame, start: usize) -> Read<Subscript> {
        self.bash_only("an array", start)?;
        self.bump();
        for (text, whole) in [("@]", Subscript::All), ("*]", Subscript::Joined)] {
            if self.eat(text) {
                return Ok(whole);
            }
        }
        self.deeper(|reader| reader.index(frame, start)).map(Subscript::Index)
    }

    fn index(&mut self, frame: Frame, start: usize) -> Read<Arithmetic> {
        let from = self.settle();
        let mut parts = Parts::new(Quoting::Body);
        let mut open = 0_usize;
        loop {
            let at = self.settle();
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

    /// At `"`: a string that is evaluated once its quotes are gone, so that a backslash hides nothing for good.
    pub(super) fn evaluated_string(&mut self, start: usize) -> Read<Vec<Piece>> {
        let from = self.settle();
        let pieces = self.double_quoted(Frame::Double)?;
        if self.source.text().get(from..self.at).is_some_and(|text| text.contains('\\')) {
            return self.refuse("a backslash in a string that is evaluated", start);
        }
        Ok(pieces)
    }

    /// A key in single quotes that means the same with and without them.
    fn quoted_key(&mut self, parts: &mut Parts, start: usize) -> Read<()> {
        let at = self.settle();
        let text = self.single_quoted()?;
        if text.contains(['$', '`', '\\', '"', '[', ']', '{', '}', '<', '>', '\n']) {
            return self.refuse("a key in single quotes that an index would expand", start);
        }
        parts.push(self, at, Quoting::Single, PieceKind::Literal(text));
        Ok(())
    }
}
