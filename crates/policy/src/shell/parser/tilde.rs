//! `~` and `~user`.

use super::cursor::{ParseResult, Parser};
use super::reserved::ends_word;
use super::word_builder::WordBuilder;
use crate::shell::{PieceKind, Quoting};

impl Parser<'_> {
    /// Whether a tilde is expanded here, if its name is plain: at the start of a word or of a
    /// value, and after `:` in a value.
    pub(super) fn is_tilde_expanded(&self, parts: &WordBuilder, assigned: bool, before: u8) -> bool {
        parts.is_empty() || parts.begins_alternative() || (assigned && matches!(before, b'=' | b':'))
    }

    pub(super) fn tilde(&mut self, parts: &mut WordBuilder) -> ParseResult<()> {
        let start = self.skip_continuations();
        if parts.begins_alternative() {
            return self.refuse("a tilde beside braces", start);
        }
        self.bump();
        let mut user = String::new();
        loop {
            match self.peek() {
                next if ends_word(next) && !self.at_process() => break,
                Some(b'/' | b':') => break,
                Some(b'{') => return self.refuse("a tilde beside braces", start),
                // With a quoted or computed name the tilde is literal.
                Some(b'\'' | b'"' | b'\\' | b'$' | b'`' | b'<' | b'>' | b'*' | b'?' | b'[') => {
                    parts.text(start, "~");
                    parts.text(start + 1, &user);
                    return Ok(());
                }
                _ => user.push_str(self.bump_char()),
            }
        }
        parts.push(self, start, Quoting::Bare, PieceKind::Tilde(user));
        Ok(())
    }
}
