//! Extended patterns: `@(a|b)` and similar.
//!
//! Bash parses them only after `shopt -s extglob`, which may have run before. Without it they are
//! syntax errors, which end the text; so parsing them as patterns loses nothing, except for `!(…)`
//! where a command may begin (a negated subshell then), and in arrays: there bash only discards the
//! line and continues with the next one, be it the body of a here-document.

use super::brackets::Pair;
use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::word_builder::WordBuilder;
use crate::shell::{Glob, PieceKind, Quoting, Word};

impl Parser<'_> {
    /// `?(`, `*(`, `+(`, `@(` or `!(`
    pub(super) fn at_extended_glob(&self) -> bool {
        matches!(self.peek(), Some(b'?' | b'*' | b'+' | b'@' | b'!')) && self.peek_at(1) == Some(b'(')
    }

    /// At the character in front of the parenthesis, where the option may be on.
    pub(super) fn extended_glob(&mut self, parts: &mut WordBuilder, is_name: bool) -> ParseResult<()> {
        let start = self.skip_continuations();
        self.bash_only("an extended pattern", start)?;
        if !self.state.extglob || self.state.arrays > 0 {
            return self.refuse("an extended pattern without `shopt -s extglob`, or in an array", start);
        }
        self.compared_glob(parts, is_name)
    }

    /// The same where bash accepts it without the option: on the right side of `==` in `[[ ]]`.
    pub(super) fn compared_glob(&mut self, parts: &mut WordBuilder, is_name: bool) -> ParseResult<()> {
        let start = self.skip_continuations();
        let Some(kind) = self.bump() else { return Ok(()) };
        if is_name {
            return self.refuse("an extended pattern in the name of a command", start);
        }
        self.bump();
        let words = self.nested(|parser| parser.alternatives(start))?;
        let glob = Glob::Extended(char::from(kind), words);
        parts.push(self, start, Quoting::Bare, PieceKind::Glob(glob));
        Ok(())
    }

    fn alternatives(&mut self, start: usize) -> ParseResult<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            let word_start = self.skip_continuations();
            let mut parts = WordBuilder::new(Quoting::Bare);
            while !matches!(self.peek(), Some(b'|' | b')')) {
                self.alternative_part(&mut parts, start)?;
            }
            words.push(Word { span: self.span(word_start), pieces: parts.pieces(self)? });
            if self.bump() == Some(b')') {
                break;
            }
        }
        // `f@()` without the option defines a function.
        if words.iter().all(|word| word.pieces.is_empty()) {
            return self.refuse("an empty extended pattern", start);
        }
        Ok(words)
    }

    fn alternative_part(&mut self, parts: &mut WordBuilder, start: usize) -> ParseResult<()> {
        let at = self.skip_continuations();
        if self.quoted_or_expanded(parts, Frame::Bare)? {
            return self.balanced(Pair::Parens, at);
        }
        if self.at_extended_glob() {
            return self.compared_glob(parts, false);
        }
        match self.peek() {
            None | Some(b'\n' | b'<' | b'>' | b'(' | b';' | b'&' | b'#') => {
                self.refuse("an extended pattern that is not plain", start)
            }
            Some(glob @ (b'*' | b'?')) => {
                self.bump();
                let glob = if glob == b'*' { Glob::Any } else { Glob::One };
                parts.push(self, at, Quoting::Bare, PieceKind::Glob(glob));
                Ok(())
            }
            Some(_) => {
                parts.text(at, self.bump_char());
                Ok(())
            }
        }
    }
}
