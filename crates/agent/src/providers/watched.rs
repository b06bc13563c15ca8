//! Whether a person has seen anything yet.
//!
//! Invariant: after the first piece that is not empty, the answer to that is yes for good.

use super::provider::Sink;

/// A sink that remembers whether anything went through it.
pub(super) struct Watched<'a> {
    sink: &'a mut dyn Sink,
    seen: Seen,
}

/// What went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing; another answer may begin.
    Nothing,
    /// Something; this answer is the only one.
    Something,
}

impl<'a> Watched<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, seen: Seen::Nothing }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen
    }
}

impl Sink for Watched<'_> {
    fn text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.seen = Seen::Something;
            self.sink.text(piece);
        }
    }
}
