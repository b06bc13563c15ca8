//! Words outside quotes.

use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::entry::MAX_WORDS;
use super::reserved::{continues_name, ends_word, starts_name};
use super::word_builder::{Mark, WordBuilder};
use crate::shell::{Glob, Piece, PieceKind, Quoting, Word};

/// How the shell treats a word, which depends on its position.
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
    /// Extended patterns are accepted without the option.
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

/// How much a word looks like an assignment: a tilde after its `=` is expanded.
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

impl Parser<'_> {
    /// Parses a word; there must be one.
    pub(super) fn word(&mut self, context: Context) -> ParseResult<Word> {
        let start = self.skip_continuations();
        if ends_word(self.peek()) && !self.at_process() {
            return self.unexpected("where a word should be");
        }
        self.word_or_nothing(context, start)
    }

    /// Parses a word that may be empty, as after `x=`.
    pub(super) fn word_or_nothing(&mut self, context: Context, start: usize) -> ParseResult<Word> {
        self.count_one(&self.state.size.words, MAX_WORDS, "words")?;
        let depth = self.state.depth;
        let mut parts = WordBuilder::new(Quoting::Bare);
        let mut shape = if context.value { Shape::Assigned } else { Shape::Start };
        let mut before = if context.value { b'=' } else { 0 };
        while let Some(next) = self.peek() {
            if next == b'~' && self.is_tilde_expanded(&parts, shape == Shape::Assigned, before) {
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
        self.check_reprint(&pieces, start)?;
        Ok(Word { span: self.span(start), pieces })
    }

    /// Bash prints what it parsed in `$(…)`, and omits the `;` of `{ a \&; }` because it follows an
    /// `&`.
    fn check_reprint(&self, pieces: &[Piece], start: usize) -> ParseResult<()> {
        let last = pieces.last().map(|piece| (piece.quoting, &piece.kind));
        match last {
            Some((Quoting::Backslash, PieceKind::Literal(text))) if self.parens > 0 && text == "&" => {
                self.refuse("a word that ends in `\\&` inside a substitution", start)
            }
            _ => Ok(()),
        }
    }

    /// Parses the next part of a word: one character, or one quoted or expanded piece.
    fn word_part(&mut self, parts: &mut WordBuilder, context: Context) -> ParseResult<bool> {
        let start = self.skip_continuations();
        let Some(next) = self.peek() else { return Ok(false) };
        if matches!(next, b'\'' | b'"' | b'\\' | b'*' | b'?' | b'[' | b'{' | b',' | b'}' | b'<' | b'>') {
            self.count_piece()?;
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
                self.enter_brace()?;
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

    fn mark(&mut self, parts: &mut WordBuilder, mark: Mark) {
        let start = self.skip_continuations();
        self.bump();
        parts.mark(self, mark, start);
    }

    /// Nested braces count as nesting until the end of the word.
    fn enter_brace(&mut self) -> ParseResult<()> {
        if self.state.depth >= super::MAX_DEPTH {
            return self.refuse(format!("more than {} levels of nesting", super::MAX_DEPTH), self.at);
        }
        self.state.depth += 1;
        Ok(())
    }

    /// Parses a quoted string, an escaped character, `$…` or backticks, if one comes next.
    pub(super) fn quoted_or_expanded(&mut self, parts: &mut WordBuilder, frame: Frame) -> ParseResult<bool> {
        let start = self.skip_continuations();
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
    fn process(&mut self, parts: &mut WordBuilder) -> ParseResult<()> {
        let start = self.skip_continuations();
        self.bump();
        self.bump();
        // Bash looks for the end of `<((` as if it were arithmetic, and parses it as commands
        // afterwards.
        if self.peek() == Some(b'(') {
            return self.refuse("a process substitution that begins with `(`; put a space before it", start);
        }
        let script = self.substitution_script()?;
        parts.push(self, start, Quoting::Bare, PieceKind::Process(script));
        Ok(())
    }
}
