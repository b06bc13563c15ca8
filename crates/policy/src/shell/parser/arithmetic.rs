//! Arithmetic: `((…))`, `$((…))`, `$[…]` and the numbers of a slice.
//!
//! The shell expands the expression as if it were in double quotes, single quotes included, and
//! evaluates the result; subscripts in it are expanded once more. So a single quote hides nothing,
//! and a backslash may hide something only until the second expansion: both are refused.

use super::brackets::Pair;
use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::word_builder::WordBuilder;
use crate::shell::{Arithmetic, Quoting};

impl Parser<'_> {
    /// Behind `((`: up to and over `))`.
    pub(super) fn double_paren(&mut self, start: usize) -> ParseResult<Arithmetic> {
        self.parenthesised(start, Frame::Bare)
    }

    /// Behind `$((`: up to and over `))`.
    pub(super) fn dollar_arithmetic(&mut self, start: usize, frame: Frame) -> ParseResult<Arithmetic> {
        self.parenthesised(start, frame)
    }

    fn parenthesised(&mut self, start: usize, frame: Frame) -> ParseResult<Arithmetic> {
        let from = self.skip_continuations();
        let mut parts = WordBuilder::new(Quoting::Body);
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'(') => open += 1,
                Some(b')') if open == 0 => break,
                Some(b')') => open -= 1,
                _ => {}
            }
            self.arithmetic_part(&mut parts, frame, Pair::Parens, start)?;
        }
        let span = self.span(from);
        // With anything between them, bash parses the parentheses as a subshell in a substitution.
        if !self.eat("))") {
            return self.refuse("`((` that does not end in `))`; put a space between the parentheses", start);
        }
        Ok(Arithmetic { span, pieces: parts.pieces(self)? })
    }

    /// Behind `$[`: up to and over its `]`.
    pub(super) fn bracket_arithmetic(&mut self, start: usize) -> ParseResult<Arithmetic> {
        let from = self.skip_continuations();
        let mut parts = WordBuilder::new(Quoting::Body);
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'[') => open += 1,
                Some(b']') if open == 0 => break,
                Some(b']') => open -= 1,
                _ => {}
            }
            self.arithmetic_part(&mut parts, Frame::Body, Pair::Brackets, start)?;
        }
        let span = self.span(from);
        self.bump();
        Ok(Arithmetic { span, pieces: parts.pieces(self)? })
    }

    /// Behind the `:` of `${x:…}`: up to, not over, the next `:` or `}`.
    pub(super) fn slice_part(&mut self, start: usize) -> ParseResult<Arithmetic> {
        let from = self.skip_continuations();
        let mut parts = WordBuilder::new(Quoting::Body);
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'(' | b'[') => open += 1,
                Some(b')' | b']') if open > 0 => open -= 1,
                Some(b':' | b'}') if open == 0 => break,
                Some(b'{' | b'}' | b'?' | b':') => return self.refuse("a slice that is not plain", start),
                _ => {}
            }
            self.arithmetic_part(&mut parts, Frame::Body, Pair::Parens, start)?;
        }
        Ok(Arithmetic { span: self.span(from), pieces: parts.pieces(self)? })
    }

    fn arithmetic_part(
        &mut self,
        parts: &mut WordBuilder,
        frame: Frame,
        pair: Pair,
        start: usize,
    ) -> ParseResult<()> {
        let at = self.skip_continuations();
        match self.peek() {
            None => return self.refuse("an arithmetic expression that never ends", start),
            Some(b'\'' | b'\\') => {
                return self.refuse("a quote or a backslash in an arithmetic expression", start);
            }
            Some(b'#') if self.behind_blank(at) => {
                // When bash expands it, it parses this as a comment, and looks for the end after
                // it.
                return self.refuse("a `#` behind a blank in an arithmetic expression", start);
            }
            Some(b'"') if frame != Frame::Bare || !self.is_bash() => {
                return self.refuse("a double quote in an arithmetic expression", start);
            }
            Some(b'"') => {
                let pieces = self.evaluated_string(start)?;
                parts.extend(self, pieces);
            }
            Some(b'$') if self.peek_at(1) == Some(b'"') => {
                return self.refuse("a `$` before a quote in an arithmetic expression", start);
            }
            Some(b'$') => self.dollar(parts, Frame::Body)?,
            Some(b'`') => self.backticks(parts, Frame::Body)?,
            Some(_) => {
                parts.text(at, self.bump_char());
                return Ok(());
            }
        }
        self.balanced(pair, at)
    }

    fn behind_blank(&self, at: usize) -> bool {
        let before = self.source.text().get(..at).unwrap_or_default();
        before.ends_with([' ', '\t', '\n'])
    }
}
