//! Locations in the text, so that a refusal can point at them.

/// A range of bytes in the text, on character boundaries.
///
/// Inside backticks the shell parses an unescaped copy; spans there still point into the original
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The part of `text` in this range; empty if the span belongs to another text.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not understood at byte {}: {what}", span.start)]
pub struct NotUnderstood {
    /// What was found, with literals in backticks.
    pub what: String,
    /// Its location.
    pub span: Span,
}

impl NotUnderstood {
    /// Line and column, both from one. The column counts characters.
    pub fn position(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.rfind('\n').map_or(before, |newline| &before[newline + 1..]);
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}
