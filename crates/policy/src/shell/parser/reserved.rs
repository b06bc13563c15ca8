//! Reserved words. They count only where a command may begin, and only without quoting.

use super::cursor::Parser;

/// Words that begin a compound command.
const OPENING: [&str; 12] =
    ["if", "while", "until", "for", "case", "select", "function", "{", "[[", "coproc", "time", "!"];

/// Words that only go on with one, or end it.
const CLOSING: [&str; 10] = ["then", "elif", "else", "fi", "do", "done", "esac", "in", "}", "]]"];

/// Reserved in bash, ordinary command names elsewhere. A POSIX shell may take them either way.
const BASH_ONLY: [&str; 4] = ["select", "function", "[[", "coproc"];

/// The length of the longest.
const MAX_RESERVED_LEN: usize = 8;

/// Where an unquoted word ends.
pub(super) fn ends_word(byte: Option<u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'))
}

impl Parser<'_> {
    /// The reserved word that comes next, if one does.
    pub(super) fn reserved(&self) -> Option<&'static str> {
        let mut found = [0_u8; MAX_RESERVED_LEN];
        let mut length = 0;
        for byte in self.upcoming() {
            if ends_word(Some(byte)) {
                break;
            }
            *found.get_mut(length)? = byte;
            length += 1;
        }
        let found = &found[..length];
        OPENING.iter().chain(&CLOSING).find(|word| word.as_bytes() == found).copied()
    }

    /// Whether exactly this reserved word comes next.
    pub(super) fn at_reserved(&self, word: &str) -> bool {
        self.reserved() == Some(word)
    }

    /// Steps over a reserved word that must come next.
    pub(super) fn expect_reserved(&mut self, word: &'static str) -> super::cursor::ParseResult<()> {
        if self.at_reserved(word) {
            self.eat(word);
            return Ok(());
        }
        self.unexpected(&format!("where `{word}` should be"))
    }
}

/// Whether a word at the start of a command is reserved.
pub(super) fn is_reserved(word: &str) -> bool {
    OPENING.contains(&word) || CLOSING.contains(&word)
}

pub(super) fn is_closing(word: &str) -> bool {
    CLOSING.contains(&word)
}

pub(super) fn is_bash_only(word: &str) -> bool {
    BASH_ONLY.contains(&word)
}

/// Whether `text` can name a variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(starts_name) && bytes.all(continues_name)
}

pub(super) fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) fn continues_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
