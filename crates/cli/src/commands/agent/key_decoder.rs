//! Decodes keys from the bytes of a raw terminal. Unknown sequences are ignored, also when they
//! arrive in pieces.

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// A character.
    Char(char),
    /// The line is finished.
    Enter,
    /// Deletes the last character.
    Backspace,
    /// Deletes the line (Ctrl-U).
    Clear,
    /// Deletes the last word (Ctrl-W).
    Word,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
}

/// Decodes keys from bytes.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    state: State,
    /// The bytes of an incomplete character.
    part: Vec<u8>,
    /// Whether text is being pasted: line breaks in it are text.
    pasting: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// After an escape.
    Escaped,
    /// In a control sequence; its parameters so far.
    Sequence(Vec<u8>),
    /// After `ESC O`: one more byte.
    Single,
}

/// Longer parameters are not from a keyboard.
const MAX_SEQUENCE_LEN: usize = 32;

impl KeyDecoder {
    /// The keys in these bytes.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.step(*byte)).collect()
    }

    fn step(&mut self, byte: u8) -> Option<Key> {
        match std::mem::take(&mut self.state) {
            State::Plain => self.plain(byte),
            State::Escaped => {
                self.state = match byte {
                    b'[' => State::Sequence(Vec::new()),
                    b'O' => State::Single,
                    0x1b => State::Escaped,
                    _ => State::Plain,
                };
                None
            }
            State::Single => None,
            State::Sequence(mut parameters) => {
                match byte {
                    0x1b => self.state = State::Escaped,
                    0x40..=0x7e => self.finish(&parameters, byte),
                    _ if parameters.len() < MAX_SEQUENCE_LEN => {
                        parameters.push(byte);
                        self.state = State::Sequence(parameters);
                    }
                    _ => {}
                }
                None
            }
        }
    }

    fn finish(&mut self, parameters: &[u8], last: u8) {
        match (parameters, last) {
            (b"200", b'~') => self.pasting = true,
            (b"201", b'~') => self.pasting = false,
            _ => {}
        }
    }

    fn plain(&mut self, byte: u8) -> Option<Key> {
        if byte >= 0x80 {
            return self.multibyte(byte);
        }
        self.part.clear();
        match byte {
            0x1b => {
                self.state = State::Escaped;
                None
            }
            b'\r' | b'\n' if self.pasting => Some(Key::Char('\n')),
            b'\r' | b'\n' => Some(Key::Enter),
            0x03 => Some(Key::Interrupt),
            0x08 | 0x7f => Some(Key::Backspace),
            0x15 => Some(Key::Clear),
            0x17 => Some(Key::Word),
            0x1a => Some(Key::Suspend),
            b'\t' => Some(Key::Char('\t')),
            0x20..=0x7e => Some(Key::Char(byte.into())),
            _ => None,
        }
    }

    fn multibyte(&mut self, byte: u8) -> Option<Key> {
        if byte & 0xc0 == 0xc0 {
            self.part.clear();
        }
        self.part.push(byte);
        let whole = std::str::from_utf8(&self.part).ok().and_then(|text| text.chars().next());
        if whole.is_some() || self.part.len() >= 4 {
            self.part.clear();
        }
        whole.filter(|c| !c.is_control()).map(Key::Char)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&[u8]]) -> Vec<Key> {
        let mut keys = KeyDecoder::default();
        pieces.iter().flat_map(|piece| keys.decode(piece)).collect()
    }

    #[test]
    fn bytes_are_read_as_the_keys_they_are() {
        let text = |text: &str| text.chars().map(Key::Char).collect::<Vec<_>>();
        for (why, pieces, want) in [
            ("letters", &[&b"ab"[..]][..], text("ab")),
            ("a character in two pieces", &[b"\xc3", b"\xbc"], text("ü")),
            ("four bytes, byte by byte", &[b"\xf0", b"\x9f", b"\xa6", b"\x80"], text("🦀")),
            ("a broken character is nothing", &[b"\xf0\x9fa"], text("a")),
            ("enter, both spellings", &[b"\r\n"], vec![Key::Enter, Key::Enter]),
            ("an arrow types nothing", &[b"\x1b[A", b"x"], text("x")),
            ("nor one that comes in pieces", &[b"\x1b", b"[1;5", b"Cx"], text("x")),
            ("nor a function key", &[b"\x1bOPx"], text("x")),
            (
                "a paste keeps its lines",
                &[b"\x1b[200~a\rb\x1b[201~\r"],
                [text("a\nb"), vec![Key::Enter]].concat(),
            ),
            ("stop and suspend", &[b"\x03\x1a"], vec![Key::Interrupt, Key::Suspend]),
            (
                "corrections",
                &[b"\x7f\x08\x15\x17"],
                vec![Key::Backspace, Key::Backspace, Key::Clear, Key::Word],
            ),
            ("other control characters are nothing", &[b"\x00\x01\x07\x0c"], vec![]),
        ] {
            assert_eq!(typed(pieces), want, "{why}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_type_a_control_character(bytes: Vec<u8>) {
            for key in KeyDecoder::default().decode(&bytes) {
                if let Key::Char(c) = key {
                    proptest::prop_assert!(!c.is_control() || c == '\n' || c == '\t');
                }
            }
        }
    }
}
