//! How large a script may be before it belongs into a file.
//!
//! Invariant: what is too large is refused before anything of it is followed.

use crate::shell::{Command, Piece, Script, Visitor, Word};

const MOST_COMMANDS: usize = 500;
const MOST_WORDS: usize = 5_000;
const MOST_PIECES: usize = 20_000;

/// What a script has too much of, if anything.
pub(super) fn too_large(script: &Script) -> Option<&'static str> {
    let mut size = Size::default();
    script.visit(&mut size);
    if size.commands > MOST_COMMANDS {
        Some("more commands than one line should have")
    } else if size.words > MOST_WORDS {
        Some("more words than one line should have")
    } else if size.pieces > MOST_PIECES {
        Some("more expansions than one line should have")
    } else {
        None
    }
}

#[derive(Default)]
struct Size {
    commands: usize,
    words: usize,
    pieces: usize,
}

impl Visitor for Size {
    fn command(&mut self, _command: &Command) {
        self.commands += 1;
    }

    fn word(&mut self, _word: &Word) {
        self.words += 1;
    }

    fn piece(&mut self, _piece: &Piece) {
        self.pieces += 1;
    }
}
