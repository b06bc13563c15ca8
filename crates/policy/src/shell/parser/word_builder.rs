//! Assembles the pieces of a word.
//!
//! Whether `[` begins a class and `{` an expansion is known only at the end of the word, so both
//! are marks until then.

use super::cursor::{ParseResult, Parser};
use crate::shell::{Glob, Piece, PieceKind, Quoting};

/// A piece, or a character that may be one.
#[derive(Debug)]
pub(super) enum Atom {
    Piece(Piece),
    /// A mark and its offset.
    Mark(Mark, usize),
}

/// A character whose meaning depends on the rest of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `{`
    Open,
    /// `,`
    Comma,
    /// `}`
    Close,
    /// `[`
    Bracket,
}

impl Mark {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Open => "{",
            Self::Comma => ",",
            Self::Close => "}",
            Self::Bracket => "[",
        }
    }
}

/// The pieces of a word so far.
#[derive(Debug)]
pub(super) struct WordBuilder {
    quoting: Quoting,
    pub(super) atoms: Vec<Atom>,
    literal: String,
    literal_from: usize,
    literal_to: usize,
    /// A `{` was read that may be expanded.
    braces: bool,
    /// A literal `$` was found outside quotes.
    pub(super) lone_dollar: bool,
    /// A `$[` was found outside quotes: brace expansion looks for commas inside it.
    pub(super) old_arithmetic: bool,
    /// A quote or a brace was found inside an expansion or double quotes: brace expansion loses
    /// count there.
    pub(super) intricate: bool,
    /// `$name` was found outside quotes, and nothing after it yet.
    pub(super) open_name: bool,
    /// `$name` is directly before one of these.
    pub(super) name_before: Vec<Mark>,
}

impl WordBuilder {
    /// An empty word, with the quoting of its plain text.
    pub(super) fn new(quoting: Quoting) -> Self {
        Self {
            quoting,
            atoms: Vec::new(),
            literal: String::new(),
            literal_from: 0,
            literal_to: 0,
            braces: false,
            lone_dollar: false,
            old_arithmetic: false,
            intricate: false,
            open_name: false,
            name_before: Vec::new(),
        }
    }

    /// Adds plain text at `start`.
    pub(super) fn text(&mut self, start: usize, text: &str) {
        if self.literal.is_empty() {
            self.literal_from = start;
        }
        self.literal.push_str(text);
        self.literal_to = start + text.len();
        self.open_name = false;
    }

    /// Adds a piece.
    pub(super) fn piece(&mut self, parser: &Parser<'_>, piece: Piece) {
        self.flush(parser);
        self.atoms.push(Atom::Piece(piece));
        self.open_name = false;
    }

    /// Adds a piece from `start` to the position.
    pub(super) fn push(&mut self, parser: &Parser<'_>, start: usize, quoting: Quoting, kind: PieceKind) {
        self.piece(parser, Piece { span: parser.span(start), quoting, kind });
    }

    /// Adds the pieces of something quoted inside the word.
    pub(super) fn extend(&mut self, parser: &Parser<'_>, pieces: Vec<Piece>) {
        self.flush(parser);
        self.atoms.extend(pieces.into_iter().map(Atom::Piece));
        self.open_name = false;
    }

    /// Adds a mark at `start`.
    pub(super) fn mark(&mut self, parser: &Parser<'_>, mark: Mark, start: usize) {
        self.flush(parser);
        if self.open_name {
            self.name_before.push(mark);
        }
        self.open_name = false;
        self.braces |= mark == Mark::Open;
        self.atoms.push(Atom::Mark(mark, start));
    }

    /// Whether the word is empty so far.
    pub(super) fn is_empty(&self) -> bool {
        self.atoms.is_empty() && self.literal.is_empty()
    }

    /// Whether an alternative in braces may begin here.
    pub(super) fn begins_alternative(&self) -> bool {
        let behind = matches!(self.atoms.last(), Some(Atom::Mark(Mark::Open | Mark::Comma, _)));
        behind && self.braces && self.literal.is_empty()
    }

    fn flush(&mut self, parser: &Parser<'_>) {
        if let Some(piece) = self.take_literal(parser) {
            self.atoms.push(Atom::Piece(piece));
        }
    }

    fn take_literal(&mut self, parser: &Parser<'_>) -> Option<Piece> {
        if self.literal.is_empty() {
            return None;
        }
        let span = parser.span_between(self.literal_from, self.literal_to);
        let kind = PieceKind::Literal(std::mem::take(&mut self.literal));
        Some(Piece { span, quoting: self.quoting, kind })
    }

    /// The finished pieces.
    pub(super) fn pieces(mut self, parser: &Parser<'_>) -> ParseResult<Vec<Piece>> {
        if self.atoms.is_empty() {
            return Ok(self.take_literal(parser).into_iter().collect());
        }
        self.flush(parser);
        let marks = self.atoms.iter().any(|atom| matches!(atom, Atom::Mark(..)));
        if marks {
            self.resolve_brackets(parser);
            return super::braces::resolve(self, parser);
        }
        let plain = self.atoms.into_iter().filter_map(|atom| match atom {
            Atom::Piece(piece) => Some(piece),
            Atom::Mark(..) => None,
        });
        Ok(plain.collect())
    }

    /// `[` is a class where a `]` can follow; with braces in the word, one always can.
    fn resolve_brackets(&mut self, parser: &Parser<'_>) {
        let mut closed = self.braces;
        for atom in self.atoms.iter_mut().rev() {
            match atom {
                Atom::Piece(Piece { quoting: Quoting::Bare, kind: PieceKind::Literal(text), .. }) => {
                    closed |= text.contains(']');
                }
                Atom::Mark(Mark::Bracket, at) => {
                    let kind = if closed {
                        PieceKind::Glob(Glob::Class)
                    } else {
                        PieceKind::Literal("[".to_owned())
                    };
                    let span = parser.span_between(*at, *at + 1);
                    *atom = Atom::Piece(Piece { span, quoting: self.quoting, kind });
                }
                _ => {}
            }
        }
    }
}

/// Adds a piece to a list, merged with the text before it if both are text of the same quoting.
pub(super) fn join(pieces: &mut Vec<Piece>, next: Piece) {
    if let PieceKind::Literal(text) = &next.kind
        && next.quoting == Quoting::Bare
        && let Some(Piece { span, quoting: Quoting::Bare, kind: PieceKind::Literal(before) }) =
            pieces.last_mut()
    {
        before.push_str(text);
        span.end = next.span.end;
        return;
    }
    pieces.push(next);
}
