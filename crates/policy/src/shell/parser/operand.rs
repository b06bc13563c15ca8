//! The words inside `${…}`.
//!
//! Where shells, or versions of bash, look for the closing brace in different ways, the word is
//! refused.

use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::word_builder::{Mark, WordBuilder};
use crate::shell::{Glob, PieceKind, Quoting, Word};

/// What is known about an operand before it is parsed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    pub(super) frame: Frame,
    /// It is a pattern, so quotes in it count even inside double quotes.
    pub(super) pattern: bool,
    /// The offset of `${`.
    pub(super) start: usize,
}

impl Parser<'_> {
    /// Parses up to, not including, the closing `}`.
    pub(super) fn operand(&mut self, operand: Operand) -> ParseResult<Word> {
        self.operand_until(operand, b'}')
    }

    /// Parses up to, not including, a `/` or the closing `}`.
    pub(super) fn operand_until_slash(&mut self, operand: Operand) -> ParseResult<Word> {
        self.operand_until(operand, b'/')
    }

    fn operand_until(&mut self, operand: Operand, end: u8) -> ParseResult<Word> {
        let start = self.skip_continuations();
        let mut parts = WordBuilder::new(operand.frame.quoting());
        loop {
            match self.peek() {
                None => return self.refuse("a `${` that is never closed", operand.start),
                Some(b'}') => break,
                Some(next) if next == end && !(parts.is_empty() && next == b'/') => break,
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    return self.refuse("a process substitution in `${…}`", operand.start);
                }
                _ if operand.frame == Frame::Bare => self.bare_operand_part(&mut parts)?,
                _ => self.quoted_operand_part(&mut parts, operand)?,
            }
        }
        Ok(Word { span: self.span(start), pieces: parts.pieces(self)? })
    }

    fn bare_operand_part(&mut self, parts: &mut WordBuilder) -> ParseResult<()> {
        let start = self.skip_continuations();
        match self.peek() {
            Some(b'~') if parts.is_empty() => self.operand_tilde(parts),
            Some(glob @ (b'*' | b'?')) => {
                self.bump();
                let glob = if glob == b'*' { Glob::Any } else { Glob::One };
                parts.push(self, start, Quoting::Bare, PieceKind::Glob(glob));
                Ok(())
            }
            Some(b'[') => {
                self.bump();
                parts.mark(self, Mark::Bracket, start);
                Ok(())
            }
            _ if self.quoted_or_expanded(parts, Frame::Bare)? => Ok(()),
            _ => {
                parts.text(start, self.bump_char());
                Ok(())
            }
        }
    }

    fn operand_tilde(&mut self, parts: &mut WordBuilder) -> ParseResult<()> {
        let start = self.skip_continuations();
        self.bump();
        let mut user = String::new();
        while let Some(byte) =
            self.peek().filter(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(byte))
        {
            self.bump();
            user.push(char::from(byte));
        }
        if matches!(self.peek(), Some(b'/' | b'}')) {
            parts.push(self, start, Quoting::Bare, PieceKind::Tilde(user));
        } else {
            parts.text(start, "~");
            parts.text(start + 1, &user);
        }
        Ok(())
    }

    fn quoted_operand_part(&mut self, parts: &mut WordBuilder, operand: Operand) -> ParseResult<()> {
        let start = self.skip_continuations();
        match self.peek() {
            Some(b'\'') => self.quote_in_quotes(parts, operand),
            Some(b'"') if operand.frame == Frame::Double && self.is_bash() => {
                let pieces = self.double_quoted(Frame::Double)?;
                parts.extend(self, pieces);
                Ok(())
            }
            Some(b'"') => self.refuse("double quotes in `${…}` in quotes", operand.start),
            Some(b'\\') => {
                let escaped = self.escaped();
                let counts = operand.pattern || matches!(escaped, "$" | "`" | "\"" | "\\" | "}");
                if escaped.is_empty() || escaped == "'" || (escaped == "\"" && operand.frame == Frame::Body) {
                    return self.refuse("an escaped quote in `${…}` in quotes", operand.start);
                }
                let text = self.bump_escape();
                let kept = if counts { text.to_owned() } else { format!("\\{text}") };
                parts.push(self, start, Quoting::Backslash, PieceKind::Literal(kept));
                Ok(())
            }
            Some(b'$') if self.peek_at(1) == Some(b'\'') && operand.pattern && self.is_bash() => {
                self.ansi_in_quotes(parts, operand)
            }
            Some(b'$') if matches!(self.peek_at(1), Some(b'\'' | b'"')) => {
                self.refuse("a `$` before a quote in `${…}` in quotes", operand.start)
            }
            Some(b'$') => self.dollar(parts, operand.frame),
            Some(b'`') => self.backticks(parts, operand.frame),
            _ => {
                parts.text(start, self.bump_char());
                Ok(())
            }
        }
    }

    /// `$'\n'` in a pattern or a replacement inside `"${…}"`, if it hides nothing.
    fn ansi_in_quotes(&mut self, parts: &mut WordBuilder, operand: Operand) -> ParseResult<()> {
        let start = self.skip_continuations();
        self.bump();
        let text = self.ansi_quoted(start)?;
        let raw = self.source.text().get(start + 2..self.at).unwrap_or_default();
        if operand.frame != Frame::Double
            || raw.contains(['"', '`', '$', '{', '}', '/'])
            || raw.contains("\\'")
        {
            return self.refuse("a `$` before a quote in `${…}` in quotes", operand.start);
        }
        parts.push(self, start, Quoting::Ansi, PieceKind::Literal(text));
        Ok(())
    }

    /// A pair of single quotes inside `"${…}"`: quoting for a pattern, plain text for a value. Only
    /// a pair that hides nothing is accepted.
    fn quote_in_quotes(&mut self, parts: &mut WordBuilder, operand: Operand) -> ParseResult<()> {
        let start = self.skip_continuations();
        let text = self.single_quoted()?;
        if !self.is_bash() || text.contains(['$', '`', '\\', '"', '{', '}', '/', '<', '>', '\n']) {
            return self.refuse("single quotes in `${…}` in quotes", operand.start);
        }
        if operand.pattern {
            parts.push(self, start, Quoting::Single, PieceKind::Literal(text));
        } else {
            parts.text(start, &format!("'{text}'"));
        }
        Ok(())
    }
}
