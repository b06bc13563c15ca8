//! `~` and `~user`.
//!
//! Invariant: a tilde piece stands only where the shell would look for a home directory.

use super::cursor::{Read, Reader};
use super::reserved::ends_word;
use super::word_builder::Parts;
use crate::shell::{PieceKind, Quoting};

impl Reader<'_> {
    /// Whether a tilde here is expanded, if its name is plain: at the start of a word or of a value, and behind `:`
    /// in a value.
    pub(super) fn tilde_counts(&self, parts: &Parts, assigned: bool, before: u8) -> bool {
        parts.is_empty() || parts.begins_alternative() || (assigned && matches!(before, b'=' | b':'))
    }

    pub(super) fn tilde(&mut self, parts: &mut Parts) -> Read<()> {
        let start = self.settle();
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
                // Quoted or computed, the name is no name: the tilde stands for itself.
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
