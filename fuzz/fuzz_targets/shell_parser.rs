//! Feeds the shell reader anything: it answers, its spans lie inside of the text, and it answers quickly.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picoclaw_policy::shell::{Command, Dialect, Piece, Span, Visitor, Word, parse};

struct Inside<'a>(&'a str);

impl Inside<'_> {
    fn check(&self, span: Span) {
        assert!(self.0.get(span.start..span.end).is_some(), "{span:?} is not inside of the text");
    }
}

impl Visitor for Inside<'_> {
    fn command(&mut self, command: &Command) {
        self.check(command.span);
    }

    fn word(&mut self, word: &Word) {
        self.check(word.span);
    }

    fn piece(&mut self, piece: &Piece) {
        self.check(piece.span);
    }
}

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Bash, Dialect::Posix] {
        match parse(text, dialect) {
            Ok(tree) => tree.visit(&mut Inside(text)),
            Err(refusal) => Inside(text).check(refusal.span),
        }
    }
});
