//! The position in a text, and the steps through it.
//!
//! Line continuations are removed here, at the lowest level, as bash does: `$\⏎(cmd)` is a
//! substitution, and `i\⏎f` is a keyword.

use super::entry::MAX_PIECES;
use crate::shell::{Dialect, NotUnderstood, Span};
use std::cell::Cell;

/// Numbers of constructs in a text.
#[derive(Debug, Default)]
pub(super) struct Size {
    pub(super) commands: Cell<usize>,
    pub(super) words: Cell<usize>,
    pub(super) pieces: Cell<usize>,
}

/// State shared by all parsers of one text: of the whole, and of the unescaped copies inside
/// backticks and here-documents.
#[derive(Debug)]
pub(super) struct State {
    pub(super) dialect: Dialect,
    /// Number of open constructs.
    pub(super) depth: usize,
    /// Number of open substitutions.
    pub(super) substitutions: usize,
    /// Number of newlines that ended a command. The first line is parsed before anything runs.
    pub(super) lines: usize,
    /// Whether the text names the option for extended patterns.
    pub(super) extglob: bool,
    /// Number of open array literals.
    pub(super) arrays: usize,
    /// Whether the text never names a variable that `$"…"` is translated by.
    pub(super) untranslated: bool,
    /// The numbers so far.
    pub(super) size: Size,
    /// Steps so far, for the tests that they are linear.
    pub(super) steps: Cell<usize>,
}

/// A text and the origin of each byte.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// The original text.
    Whole(&'a str),
    /// A copy with some bytes removed: the original offset of each byte, and one for the end.
    Copy(&'a str, &'a [usize]),
}

impl<'a> Source<'a> {
    pub(super) fn text(self) -> &'a str {
        match self {
            Self::Whole(text) | Self::Copy(text, _) => text,
        }
    }

    pub(super) fn origin(self, at: usize) -> usize {
        match self {
            Self::Whole(_) => at,
            Self::Copy(_, places) => places.get(at).or(places.last()).copied().unwrap_or_default(),
        }
    }
}

/// Parses one source, front to back.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) source: Source<'a>,
    pub(super) at: usize,
    pub(super) state: &'a mut State,
    /// Here-documents whose operator was parsed and whose body was not.
    pub(super) pending: Vec<super::heredoc::Pending>,
    /// Number of enclosing lists that need a body.
    pub(super) waiting: usize,
    /// Number of open `$(` and `<(` of this source: bash looks for their `)` in here-documents,
    /// too.
    pub(super) parens: usize,
    /// Number of here-documents of the innermost of them.
    pub(super) documents: usize,
}

pub(super) type ParseResult<T> = Result<T, NotUnderstood>;

impl<'a> Parser<'a> {
    pub(super) fn new(source: Source<'a>, state: &'a mut State) -> Self {
        Self { source, at: 0, state, pending: Vec::new(), waiting: 0, parens: 0, documents: 0 }
    }

    pub(super) fn is_bash(&self) -> bool {
        self.state.dialect == Dialect::Bash
    }

    fn bytes(&self) -> &'a [u8] {
        self.source.text().as_bytes()
    }

    fn step(&self) {
        self.state.steps.set(self.state.steps.get() + 1);
    }

    /// The first offset from `at` on that is not in a line continuation.
    fn visible(&self, mut at: usize) -> usize {
        self.step();
        while self.bytes().get(at..at + 2) == Some(b"\\\n") {
            self.step();
            at += 2;
        }
        at
    }

    /// The next byte.
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes().get(self.visible(self.at)).copied()
    }

    /// The byte `ahead` positions after the next one.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.upcoming().nth(ahead)
    }

    /// The next bytes, one after the other.
    pub(super) fn upcoming(&self) -> impl Iterator<Item = u8> {
        let mut at = self.at;
        std::iter::from_fn(move || {
            let visible = self.visible(at);
            at = visible + 1;
            self.bytes().get(visible).copied()
        })
    }

    /// Steps over the next byte.
    pub(super) fn bump(&mut self) -> Option<u8> {
        let at = self.visible(self.at);
        let byte = self.bytes().get(at).copied();
        self.at = (at + 1).min(self.bytes().len());
        byte
    }

    /// Consumes the next character and returns it.
    pub(super) fn bump_char(&mut self) -> &'a str {
        let at = self.visible(self.at);
        let text = self.source.text();
        let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        self.at = at + length;
        text.get(at..at + length).unwrap_or_default()
    }

    /// Consumes the next byte, line continuation or not.
    pub(super) fn bump_raw(&mut self) -> Option<u8> {
        self.step();
        let byte = self.bytes().get(self.at).copied();
        self.at = (self.at + 1).min(self.bytes().len());
        byte
    }

    /// The character after the next backslash, unchanged: an escaped backslash keeps a newline
    /// after it from being a line continuation.
    pub(super) fn escaped(&self) -> &'a str {
        let at = self.visible(self.at) + 1;
        let text = self.source.text();
        let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        text.get(at..at + length).unwrap_or_default()
    }

    /// Consumes a backslash and the character after it, which is returned.
    pub(super) fn bump_escape(&mut self) -> &'a str {
        let escaped = self.escaped();
        self.at = self.visible(self.at) + 1 + escaped.len();
        escaped
    }

    /// Counts work without a step.
    pub(super) fn count(&self, steps: usize) {
        self.state.steps.set(self.state.steps.get() + steps);
    }

    /// Consumes `expected` if it comes next.
    pub(super) fn eat(&mut self, expected: &str) -> bool {
        if self.looking_at(expected) {
            for _ in expected.bytes() {
                self.bump();
            }
            return true;
        }
        false
    }

    /// Whether `expected`, a few ASCII bytes, comes next.
    pub(super) fn looking_at(&self, expected: &str) -> bool {
        let mut upcoming = self.upcoming();
        expected.bytes().all(|byte| upcoming.next() == Some(byte))
    }

    /// Consumes line continuations, so that a span begins at the byte that counts.
    pub(super) fn skip_continuations(&mut self) -> usize {
        self.at = self.visible(self.at);
        self.at
    }

    /// Consumes blanks and a comment, up to a newline or a token.
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.bump();
        }
        if self.peek() == Some(b'#') {
            self.skip_continuations();
            while !matches!(self.bytes().get(self.at), None | Some(b'\n')) {
                self.bump_raw();
            }
        }
        self.skip_continuations();
    }

    /// The span from `start` to the position.
    pub(super) fn span(&self, start: usize) -> Span {
        self.span_between(start, self.at)
    }

    pub(super) fn span_between(&self, start: usize, end: usize) -> Span {
        let from = self.source.origin(start);
        // In a copy, what was removed after the last byte is not part of it.
        let to = if end > start { self.source.origin(end - 1) + 1 } else { from };
        Span { start: from, end: to.max(from) }
    }

    /// Refuses the text between `start` and the position.
    pub(super) fn refuse<T>(&self, what: impl Into<String>, start: usize) -> ParseResult<T> {
        Err(NotUnderstood { what: what.into(), span: self.span(start) })
    }

    /// Refuses the next character.
    pub(super) fn unexpected<T>(&mut self, where_: &str) -> ParseResult<T> {
        let start = self.skip_continuations();
        let what = match self.bump_char() {
            "" => format!("the text ends {where_}"),
            "\n" => format!("unexpected end of line {where_}"),
            found => format!("unexpected `{found}` {where_}"),
        };
        self.refuse(what, start)
    }

    /// Refuses `what` unless the dialect is bash.
    pub(super) fn bash_only(&self, what: &str, start: usize) -> ParseResult<()> {
        if self.is_bash() { Ok(()) } else { self.refuse(format!("{what}, which not every `sh` has"), start) }
    }

    /// Counts one more construct, up to `most`.
    pub(super) fn count_one(&self, of: &Cell<usize>, most: usize, what: &str) -> ParseResult<()> {
        of.set(of.get() + 1);
        if of.get() > most {
            return self.refuse(format!("more {what} than one line should have"), self.at);
        }
        Ok(())
    }

    /// Counts one more piece that is not plain text.
    pub(super) fn count_piece(&self) -> ParseResult<()> {
        self.count_one(&self.state.size.pieces, MAX_PIECES, "quotes and expansions")
    }

    /// Parses something one level deeper, up to the nesting limit.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.state.depth >= super::MAX_DEPTH {
            return self.refuse(format!("more than {} levels of nesting", super::MAX_DEPTH), self.at);
        }
        self.state.depth += 1;
        let result = read(self);
        self.state.depth -= 1;
        result
    }
}
