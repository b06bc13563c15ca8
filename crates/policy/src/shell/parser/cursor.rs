//! The place in a text, and the steps through it.
//!
//! A backslash before a newline is taken away here, below everything else, because that is where bash takes it
//! away: `$\⏎(cmd)` is a substitution, and `i\⏎f` is a keyword.
//!
//! Invariant: the place only moves forward, and never past the end.

use super::entry::MOST_PIECES;
use crate::shell::{Dialect, NotUnderstood, Span};
use std::cell::Cell;

/// What a text has been found to hold.
#[derive(Debug, Default)]
pub(super) struct Size {
    pub(super) commands: Cell<usize>,
    pub(super) words: Cell<usize>,
    pub(super) pieces: Cell<usize>,
}

/// What all readers of one text share: the whole, and the unescaped copies inside backticks and here-documents.
#[derive(Debug)]
pub(super) struct State {
    pub(super) dialect: Dialect,
    /// How many constructs are open around the place.
    pub(super) depth: usize,
    /// How many substitutions are open around the place.
    pub(super) substitutions: usize,
    /// How many newlines have ended a command so far: what stands on the first line is read before anything runs.
    pub(super) lines: usize,
    /// Whether the text names the option that extended patterns need.
    pub(super) extglob: bool,
    /// How many array literals are open around the place.
    pub(super) arrays: usize,
    /// Whether the text never names what `$"…"` is translated with.
    pub(super) untranslated: bool,
    /// How much of each was read so far.
    pub(super) size: Size,
    /// Work done, for the tests that hold it linear.
    pub(super) steps: Cell<usize>,
}

/// A text, and where each of its bytes comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// The text as it was given.
    Whole(&'a str),
    /// A copy with some bytes taken out: the place of each byte in the text as it was given, and one for the end.
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

/// Reads one source, front to back.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) source: Source<'a>,
    pub(super) at: usize,
    pub(super) state: &'a mut State,
    /// Here-documents whose operator was read and whose body was not.
    pub(super) pending: Vec<super::heredoc::Pending>,
    /// How many enclosing lists wait for a body of theirs.
    pub(super) waiting: usize,
    /// How many `$(` and `<(` of this source are open: bash looks for their `)` in here-documents, too.
    pub(super) parens: usize,
    /// How many here-documents the innermost of them has so far.
    pub(super) documents: usize,
}

pub(super) type Read<T> = Result<T, NotUnderstood>;

impl<'a> Reader<'a> {
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

    /// The first place at or behind `at` that is not a line continuation.
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

    /// The byte that is `ahead` places behind the next one.
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

    /// Steps over the next character and returns its bytes; only a text's own characters are longer than one byte.
    pub(super) fn bump_char(&mut self) -> &'a str {
        let at = self.visible(self.at);
        let text = self.source.text();
        let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        self.at = at + length;
        text.get(at..at + length).unwrap_or_default()
    }

    /// The next byte without any regard for line continuations, stepped over.
    pub(super) fn bump_raw(&mut self) -> Option<u8> {
        self.step();
        let byte = self.bytes().get(self.at).copied();
        self.at = (self.at + 1).min(self.bytes().len());
        byte
    }

    /// The character behind the backslash that comes next, as it stands: an escaped backslash hides a newline
    /// behind it from being a line continuation.
    pub(super) fn escaped(&self) -> &'a str {
        let at = self.visible(self.at) + 1;
        let text = self.source.text();
        let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        text.get(at..at + length).unwrap_or_default()
    }

    /// Steps over a backslash and the character behind it, which is returned.
    pub(super) fn bump_escape(&mut self) -> &'a str {
        let escaped = self.escaped();
        self.at = self.visible(self.at) + 1 + escaped.len();
        escaped
    }

    /// Counts work that is done without a step.
    pub(super) fn count(&self, steps: usize) {
        self.state.steps.set(self.state.steps.get() + steps);
    }

    /// Steps over `expected` if it comes next.
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

    /// Steps over line continuations, so that a span begins at the byte that counts.
    pub(super) fn settle(&mut self) -> usize {
        self.at = self.visible(self.at);
        self.at
    }

    /// Steps over blanks and a comment, up to a newline or something that counts.
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.bump();
        }
        if self.peek() == Some(b'#') {
            self.settle();
            while !matches!(self.bytes().get(self.at), None | Some(b'\n')) {
                self.bump_raw();
            }
        }
        self.settle();
    }

    /// The span from `start` to the place.
    pub(super) fn span(&self, start: usize) -> Span {
        self.span_between(start, self.at)
    }

    pub(super) fn span_between(&self, start: usize, end: usize) -> Span {
        let from = self.source.origin(start);
        // In a copy, what was taken out behind the last byte is not part of it.
        let to = if end > start { self.source.origin(end - 1) + 1 } else { from };
        Span { start: from, end: to.max(from) }
    }

    /// Refuses what stands between `start` and the place.
    pub(super) fn refuse<T>(&self, what: impl Into<String>, start: usize) -> Read<T> {
        Err(NotUnderstood { what: what.into(), span: self.span(start) })
    }

    /// Refuses the next character.
    pub(super) fn unexpected<T>(&mut self, where_: &str) -> Read<T> {
        let start = self.settle();
        let what = match self.bump_char() {
            "" => format!("the text ends {where_}"),
            "\n" => format!("unexpected end of line {where_}"),
            found => format!("unexpected `{found}` {where_}"),
        };
        self.refuse(what, start)
    }

    /// Refuses `what` unless bash will run the text.
    pub(super) fn bash_only(&self, what: &str, start: usize) -> Read<()> {
        if self.is_bash() { Ok(()) } else { self.refuse(format!("{what}, which not every `sh` has"), start) }
    }

    /// One more of what a text may have so many of.
    pub(super) fn one_more(&self, of: &Cell<usize>, most: usize, what: &str) -> Read<()> {
        of.set(of.get() + 1);
        if of.get() > most {
            return self.refuse(format!("more {what} than one line should have"), self.at);
        }
        Ok(())
    }

    /// One more part of a word, where it is not plain text.
    pub(super) fn one_more_piece(&self) -> Read<()> {
        self.one_more(&self.state.size.pieces, MOST_PIECES, "quotes and expansions")
    }

    /// Reads something one level deeper, or refuses when that is too deep.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.state.depth >= super::DEEPEST {
            return self.refuse(format!("more than {} levels of nesting", super::DEEPEST), self.at);
        }
        self.state.depth += 1;
        let result = read(self);
        self.state.depth -= 1;
        result
    }
}
