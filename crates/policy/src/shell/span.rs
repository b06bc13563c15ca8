//! Where something stands in the text, so that a refusal can point at it.
//!
//! Invariant: `start <= end <= text.len()`, and both lie on character boundaries of the text that was read.

/// A range of bytes in the text that was read.
///
/// Inside backticks the shell reads an unescaped copy; spans there still point into the original text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The part of `text` that is meant; empty when this span belongs to another text.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// Why a text was not read: fail closed, and say where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not understood at byte {}: {what}", span.start)]
pub struct NotUnderstood {
    /// The part, in words, literals in backticks.
    pub what: String,
    /// Where it stands.
    pub span: Span,
}

impl NotUnderstood {
    /// Line and column of the place, both from one, the column in characters.
    pub fn position(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.rfind('\n').map_or(before, |newline| &before[newline + 1..]);
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}
