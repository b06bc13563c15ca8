//! Puts the pieces of a word together while it is read.
//!
//! Whether `[` begins a class and `{` an expansion is only known at the end of the word, so both are marks until
//! then.
//!
//! Invariant: text that touches, and is quoted alike, is one piece.

use super::cursor::{Read, Reader};
use crate::shell::{Glob, Piece, PieceKind, Quoting};

/// A piece, or a character that may be one.
#[derive(Debug)]
pub(super) enum Atom {
    Piece(Piece),
    /// A mark, and where it stands in the source.
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

/// What was read of a word so far.
#[derive(Debug)]
pub(super) struct Parts {
    quoting: Quoting,
    pub(super) atoms: Vec<Atom>,
    literal: String,
    literal_from: usize,
    literal_to: usize,
    /// A `{` was read that may be expanded.
    braces: bool,
    /// A `$` that stands for itself was read outside of quotes.
    pub(super) lone_dollar: bool,
    /// A `$[` was read outside of quotes: brace expansion does not know it, and looks for commas inside.
    pub(super) old_arithmetic: bool,
    /// A quote or a brace was read inside of an expansion or of double quotes: brace expansion loses count there.
    pub(super) intricate: bool,
    /// `$name` was read outside of quotes and nothing behind it yet.
    pub(super) open_name: bool,
    /// `$name` stands directly before one of these.
    pub(super) name_before: Vec<Mark>,
}

impl Parts {
    /// Parts of a word, with the quoting of its plain text.
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

    /// Adds plain text that stands at `start`.
    pub(super) fn text(&mut self, start: usize, text: &str) {
        if self.literal.is_empty() {
            self.literal_from = start;
        }
        self.literal.push_str(text);
        self.literal_to = start + text.len();
        self.open_name = false;
    }

    /// Adds a piece.
    pub(super) fn piece(&mut self, reader: &Reader<'_>, piece: Piece) {
        self.flush(reader);
        self.atoms.push(Atom::Piece(piece));
        self.open_name = false;
    }

    /// Adds a piece that begins at `start` and ends at the place.
    pub(super) fn push(&mut self, reader: &Reader<'_>, start: usize, quoting: Quoting, kind: PieceKind) {
        self.piece(reader, Piece { span: reader.span(start), quoting, kind });
    }

    /// Adds the pieces of something quoted inside the word.
    pub(super) fn extend(&mut self, reader: &Reader<'_>, pieces: Vec<Piece>) {
        self.flush(reader);
        self.atoms.extend(pieces.into_iter().map(Atom::Piece));
        self.open_name = false;
    }

    /// Adds a mark that stands at `start`.
    pub(super) fn mark(&mut self, reader: &Reader<'_>, mark: Mark, start: usize) {
        self.flush(reader);
        if self.open_name {
            self.name_before.push(mark);
        }
        self.open_name = false;
        self.braces |= mark == Mark::Open;
        self.atoms.push(Atom::Mark(mark, start));
    }

    /// Whether nothing was read yet.
    pub(super) fn is_empty(&self) -> bool {
        self.atoms.is_empty() && self.literal.is_empty()
    }

    /// Whether an alternative in braces may begin here.
    pub(super) fn begins_alternative(&self) -> bool {
        let behind = matches!(self.atoms.last(), Some(Atom::Mark(Mark::Open | Mark::Comma, _)));
        behind && self.braces && self.literal.is_empty()
    }

    fn flush(&mut self, reader: &Reader<'_>) {
        if let Some(piece) = self.take_literal(reader) {
            self.atoms.push(Atom::Piece(piece));
        }
    }

    fn take_literal(&mut self, reader: &Reader<'_>) -> Option<Piece> {
        if self.literal.is_empty() {
            return None;
        }
        let span = reader.span_between(self.literal_from, self.literal_to);
        let kind = PieceKind::Literal(std::mem::take(&mut self.literal));
        Some(Piece { span, quoting: self.quoting, kind })
    }

    /// The finished pieces.
    pub(super) fn pieces(mut self, reader: &Reader<'_>) -> Read<Vec<Piece>> {
        if self.atoms.is_empty() {
            return Ok(self.take_literal(reader).into_iter().collect());
        }
        self.flush(reader);
        let marks = self.atoms.iter().any(|atom| matches!(atom, Atom::Mark(..)));
        if marks {
            self.settle_brackets(reader);
            return super::braces::resolve(self, reader);
        }
        let plain = self.atoms.into_iter().filter_map(|atom| match atom {
            Atom::Piece(piece) => Some(piece),
            Atom::Mark(..) => None,
        });
        Ok(plain.collect())
    }

    /// `[` is a class where a `]` can follow; with braces in the word, one always can.
    fn settle_brackets(&mut self, reader: &Reader<'_>) {
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
                    let span = reader.span_between(*at, *at + 1);
                    *atom = Atom::Piece(Piece { span, quoting: self.quoting, kind });
                }
                _ => {}
            }
        }
    }
}

/// Adds a piece to a list; text that goes on with the text before it becomes part of it.
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
