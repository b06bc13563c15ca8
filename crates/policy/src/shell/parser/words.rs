//! Words outside of quotes.
//!
//! Invariant: a word ends at the first unquoted blank, newline or operator, and nowhere else.

use super::cursor::{Read, Reader};
use super::dollar::Frame;
use super::entry::MOST_WORDS;
use super::reserved::{continues_name, ends_word, starts_name};
use super::word_builder::{Mark, Parts};
use crate::shell::{Direction, Glob, Piece, PieceKind, ProcessSubstitution, Quoting, Word};

/// What the shell does with a word, which depends on where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    /// Braces are expanded.
    braces: bool,
    /// `*`, `?` and `[` are patterns.
    globs: bool,
    /// `name=(…)` is an array.
    arrays: bool,
    /// A tilde counts behind `:`, too.
    pub(super) value: bool,
    /// `!(` may be a pattern, or a negated subshell.
    name: bool,
    /// Extended patterns are read without their option.
    compared: bool,
}

impl Context {
    const PLAIN: Self =
        Self { braces: false, globs: false, arrays: false, value: false, name: false, compared: false };
    /// An argument.
    pub(super) const ARGUMENT: Self = Self { braces: true, globs: true, ..Self::PLAIN };
    /// The name of a command.
    pub(super) const NAME: Self = Self { name: true, ..Self::ARGUMENT };
    /// An argument of `declare` and its like.
    pub(super) const DECLARATION: Self = Self { arrays: true, ..Self::ARGUMENT };
    /// The file of a redirection.
    pub(super) const TARGET: Self = Self::ARGUMENT;
    /// The value of an assignment.
    pub(super) const VALUE: Self = Self { value: true, ..Self::PLAIN };
    /// What `case` compares, and a here-string.
    pub(super) const SUBJECT: Self = Self::PLAIN;
    /// A pattern of `case`, an operand of `[[ ]]`.
    pub(super) const PATTERN: Self = Self { globs: true, ..Self::PLAIN };
    /// The right side of `==` in `[[ ]]`.
    pub(super) const COMPARED: Self = Self { compared: true, ..Self::PATTERN };
}

/// How far a word looks like an assignment: a tilde behind its `=` is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Start,
    Name,
    Assigned,
    Other,
}

impl Shape {
    fn next(self, byte: u8) -> Self {
        match self {
            Self::Start if starts_name(byte) => Self::Name,
            Self::Name if continues_name(byte) || byte == b'+' => Self::Name,
            Self::Name if byte == b'=' => Self::Assigned,
            Self::Assigned => Self::Assigned,
            _ => Self::Other,
        }
    }
}

impl Reader<'_> {
    /// Reads a word; there must be one.
    pub(super) fn word(&mut self, context: Context) -> Read<Word> {
        let start = self.settle();
        if ends_word(self.peek()) && !self.at_process() {
            return self.unexpected("where a word should be");
        }
        self.word_or_nothing(context, start)
    }

    /// Reads a word that may be empty, as behind `x=`.
    pub(super) fn word_or_nothing(&mut self, context: Context, start: usize) -> Read<Word> {
        self.one_more(&self.state.size.words, MOST_WORDS, "words")?;
        let depth = self.state.depth;
        let mut parts = Parts::new(Quoting::Bare);
        let mut shape = if context.value { Shape::Assigned } else { Shape::Start };
        let mut before = if context.value { b'=' } else { 0 };
        while let Some(next) = self.peek() {
            if next == b'~' && self.tilde_counts(&parts, shape == Shape::Assigned, before) {
                self.tilde(&mut parts)?;
            } else if ends_word(Some(next)) && !self.at_process() {
                break;
            } else if !self.word_part(&mut parts, context)? {
                return self.refuse("a word that is not understood", start);
            }
            shape = shape.next(next);
            before = next;
            if shape == Shape::Assigned && context.arrays && next == b'=' && self.peek() == Some(b'(') {
                self.array_piece(&mut parts)?;
            }
        }
        self.state.depth = depth;
        let pieces = parts.pieces(self)?;
        self.prints_well(&pieces, start)?;
        Ok(Word { span: self.span(start), pieces })
    }

    /// Bash prints what it read in `$(…)`, and leaves the `;` of `{ a \&; }` out because it follows an `&`.
    fn prints_well(&self, pieces: &[Piece], start: usize) -> Read<()> {
        let last = pieces.last().map(|piece| (piece.quoting, &piece.kind));
        match last {
            Some((Quoting::Backslash, PieceKind::Literal(text))) if self.parens > 0 && text == "&" => {
                self.refuse("a word that ends in `\\&` inside a substitution", start)
            }
            _ => Ok(()),
        }
    }

    /// Reads the next part of a word: one character, or one quoted or expanded piece.
    fn word_part(&mut self, parts: &mut Parts, context: Context) -> Read<bool> {
        let start = self.settle();
        let Some(next) = self.peek() else { return Ok(false) };
        if matches!(next, b'\'' | b'"' | b'\\' | b'*' | b'?' | b'[' | b'{' | b',' | b'}' | b'<' | b'>') {
            self.one_more_piece()?;
        }
        if self.quoted_or_expanded(parts, Frame::Bare)? {
            return Ok(true);
        }
        if self.at_extended_glob() && context.compared {
            return self.compared_glob(parts, context.name).map(|()| true);
        }
        if self.at_extended_glob() {
            return self.extended_glob(parts, context.name).map(|()| true);
        }
        match next {
            b'<' | b'>' => self.process(parts)?,
            b'*' | b'?' if context.globs => {
                self.bump();
                let glob = if next == b'*' { Glob::Any } else { Glob::One };
                parts.push(self, start, Quoting::Bare, PieceKind::Glob(glob));
            }
            b'[' if context.globs => self.mark(parts, Mark::Bracket),
            b'{' if context.braces => {
                self.brace_opens()?;
                self.mark(parts, Mark::Open);
            }
            b',' if context.braces => self.mark(parts, Mark::Comma),
            b'}' if context.braces => {
                self.mark(parts, Mark::Close);
            }
            _ => parts.text(start, self.bump_char()),
        }
        Ok(true)
    }

    fn mark(&mut self, parts: &mut Parts, mark: Mark) {
        let start = self.settle();
        self.bump();
        parts.mark(self, mark, start);
    }

    /// What stands in nested braces is nested; the depth is given back at the end of the word.
    fn brace_opens(&mut self) -> Read<()> {
        if self.state.depth >= super::DEEPEST {
            return self.refuse(format!("more than {} levels of nesting", super::DEEPEST), self.at);
        }
        self.state.depth += 1;
        Ok(())
    }

    /// Reads a quoted string, an escaped character, `$…` or backticks, if one comes next.
    pub(super) fn quoted_or_expanded(&mut self, parts: &mut Parts, frame: Frame) -> Read<bool> {
        let start = self.settle();
        match self.peek() {
            Some(b'\'') => {
                let text = self.single_quoted()?;
                parts.push(self, start, Quoting::Single, PieceKind::Literal(text));
            }
            Some(b'"') => {
                let pieces = self.double_quoted(Frame::Double)?;
                let inner = self.source.text().get(start + 1..self.at - 1).unwrap_or_default();
                parts.intricate |= inner.contains('"');
                parts.extend(self, pieces);
            }
            Some(b'\\') => {
                let text = self.bump_escape();
                if text.is_empty() {
                    return self.refuse("a backslash at the end of the text", start);
                }
                parts.push(self, start, Quoting::Backslash, PieceKind::Literal(text.to_owned()));
            }
            Some(b'$') => self.dollar(parts, frame)?,
            Some(b'`') => self.backticks(parts, frame)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `<(…)` or `>(…)`.
    fn process(&mut self, parts: &mut Parts) -> Read<()> {
        let start = self.settle();
        let direction = if self.bump() == Some(b'<') { Direction::Read } else { Direction::Write };
        self.bump();
        // Bash looks for the end of `<((` as if it were arithmetic, and reads it as commands afterwards.
        if self.peek() == Some(b'(') {
            return self.refuse("a process substitution that begins with `(`; put a space before it", start);
        }
        let script = self.substituted()?;
        let kind = PieceKind::Process(ProcessSubstitution { direction, script });
        parts.push(self, start, Quoting::Bare, kind);
        Ok(())
    }
}
