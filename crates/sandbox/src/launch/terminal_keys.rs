//! Names of keys, and the bytes that a terminal sends for them.

/// The cursor key mode that a program has set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CursorKeys {
    /// `ESC [ A`.
    #[default]
    Normal,
    /// `ESC O A`, after the program sent `ESC [ ? 1 h`.
    Application,
}

/// A name that stands for no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A name that stands for no key.
    #[error("unknown key: {0} (use write action for text input)")]
    Unknown(String),
    /// No such key with shift.
    #[error("unknown key with shift: {0}")]
    Shift(String),
    /// No such key with control.
    #[error("invalid ctrl key: {0}")]
    Ctrl(String),
    /// No such key with alt.
    #[error("invalid alt key: {0}")]
    Alt(String),
}

/// The bytes for a comma-separated list of keys, such as `c-c,enter`.
pub fn encode(keys: &str, cursor: CursorKeys) -> Result<Vec<u8>, KeyError> {
    let mut bytes = Vec::new();
    for key in keys.split(',') {
        encode_key(key.trim(), cursor, &mut bytes)?;
    }
    Ok(bytes)
}

/// Whether these keys neither type nor edit a line in a shell: an empty line, a signal, the end of
/// input. Arrows and editing keys could make a new command out of earlier ones, past the guard.
pub fn is_control_only(keys: &str) -> bool {
    const CONTROL: &[&str] = &[
        "enter", "return", "c-c", "c-d", "c-z", "c-\\", "c-l", "ctrl-c", "ctrl-d", "ctrl-z", "ctrl-\\",
        "ctrl-l",
    ];
    keys.split(',').all(|key| CONTROL.contains(&key.trim().to_ascii_lowercase().as_str()))
}

fn encode_key(key: &str, cursor: CursorKeys, bytes: &mut Vec<u8>) -> Result<(), KeyError> {
    let lower = key.to_ascii_lowercase();
    if let Some(sequence) = named(&lower, cursor) {
        bytes.extend_from_slice(sequence.as_bytes());
        return Ok(());
    }
    let after = |names: [&str; 2]| names.iter().find_map(|name| lower.strip_prefix(name));
    if let Some(rest) = after(["c-", "ctrl-"]) {
        bytes.push(control(rest).ok_or_else(|| KeyError::Ctrl(rest.to_owned()))?);
    } else if let Some(rest) = after(["m-", "alt-"]) {
        // Not the lower-case text: alt with a capital letter is another key.
        let typed = &key[key.len() - rest.len()..];
        let sequence = named(rest, cursor).map(str::to_owned).or_else(|| single(typed).map(String::from));
        bytes.push(0x1b);
        bytes.extend_from_slice(sequence.ok_or_else(|| KeyError::Alt(typed.to_owned()))?.as_bytes());
    } else if let Some(rest) = after(["s-", "shift-"]) {
        let name = if rest == "tab" { "btab" } else { rest };
        let sequence = named(name, cursor).ok_or_else(|| KeyError::Shift(rest.to_owned()))?;
        bytes.extend_from_slice(sequence.as_bytes());
    } else {
        return Err(KeyError::Unknown(key.to_owned()));
    }
    Ok(())
}

fn control(rest: &str) -> Option<u8> {
    if rest == "space" {
        return Some(0);
    }
    match single(rest)? {
        sign @ ('a'..='z' | '@' | '[' | '\\' | ']' | '^' | '_') => Some(sign as u8 & 0x1f),
        '?' => Some(0x7f),
        _ => None,
    }
}

fn single(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let only = characters.next()?;
    (characters.next().is_none() && !only.is_control()).then_some(only)
}

fn named(key: &str, cursor: CursorKeys) -> Option<&'static str> {
    let application = cursor == CursorKeys::Application;
    let either = |normal, changed| if application { changed } else { normal };
    Some(match key {
        "enter" | "return" => "\r",
        "tab" => "\t",
        "escape" | "esc" => "\x1b",
        "space" => " ",
        "backspace" | "bspace" => "\x7f",
        "up" => either("\x1b[A", "\x1bOA"),
        "down" => either("\x1b[B", "\x1bOB"),
        "right" => either("\x1b[C", "\x1bOC"),
        "left" => either("\x1b[D", "\x1bOD"),
        "home" => either("\x1b[1~", "\x1bOH"),
        "end" => either("\x1b[4~", "\x1bOF"),
        "pageup" | "pgup" => "\x1b[5~",
        "pagedown" | "pgdn" => "\x1b[6~",
        "insert" | "ic" => "\x1b[2~",
        "delete" | "del" | "dc" => "\x1b[3~",
        "btab" => "\x1b[Z",
        "f1" => "\x1bOP",
        "f2" => "\x1bOQ",
        "f3" => "\x1bOR",
        "f4" => "\x1bOS",
        "f5" => "\x1b[15~",
        "f6" => "\x1b[17~",
        "f7" => "\x1b[18~",
        "f8" => "\x1b[19~",
        "f9" => "\x1b[20~",
        "f10" => "\x1b[21~",
        "f11" => "\x1b[23~",
        "f12" => "\x1b[24~",
        _ => return None,
    })
}

/// Follows a terminal's output for changes of the cursor key mode.
#[derive(Debug, Default)]
pub(super) struct CursorWatch {
    recent: Vec<u8>,
    mode: CursorKeys,
}

impl CursorWatch {
    const ON: &'static [u8] = b"\x1b[?1h";
    const OFF: &'static [u8] = b"\x1b[?1l";

    pub(super) fn mode(&self) -> CursorKeys {
        self.mode
    }

    pub(super) fn see(&mut self, output: &[u8]) {
        self.recent.extend_from_slice(output);
        let last =
            |sequence: &[u8]| self.recent.windows(sequence.len()).rposition(|window| window == sequence);
        match (last(Self::ON), last(Self::OFF)) {
            (None, None) => {}
            (on, off) if on > off => self.mode = CursorKeys::Application,
            _ => self.mode = CursorKeys::Normal,
        }
        // A sequence may be split between two reads.
        let keep = self.recent.len().saturating_sub(Self::ON.len() - 1);
        self.recent.drain(..keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_the_bytes_a_terminal_sends() {
        for (why, keys, want) in [
            ("a list, whatever the case", "Enter, TAB", Ok("\r\t")),
            ("an arrow", "up", Ok("\x1b[A")),
            ("control", "c-c", Ok("\x03")),
            ("control, spelled out and capital", "CTRL-D", Ok("\x04")),
            ("control and space", "c-space", Ok("\0")),
            ("alt keeps the case", "m-X", Ok("\x1bX")),
            ("alt and a named key", "alt-enter", Ok("\x1b\r")),
            ("shift and tab", "s-tab", Ok("\x1b[Z")),
            ("a function key", "f12", Ok("\x1b[24~")),
            ("control and nothing (W44)", "c-", Err(KeyError::Ctrl(String::new()))),
            ("alt and nothing", "m-", Err(KeyError::Alt(String::new()))),
            ("shift and nothing", "s-", Err(KeyError::Shift(String::new()))),
            ("control and a word", "ctrl-foo", Err(KeyError::Ctrl("foo".into()))),
            ("not one byte", "c-\u{e9}", Err(KeyError::Ctrl("\u{e9}".into()))),
            ("text is not a key", "x", Err(KeyError::Unknown("x".into()))),
            ("nothing is not a key", "enter,,tab", Err(KeyError::Unknown(String::new()))),
        ] {
            assert_eq!(
                encode(keys, CursorKeys::Normal),
                want.map(|text| text.as_bytes().to_vec()),
                "{why}: `{keys}`"
            );
        }
        assert_eq!(encode("up,home,f1", CursorKeys::Application), Ok(b"\x1bOA\x1bOH\x1bOP".to_vec()));
    }

    #[test]
    fn the_last_word_on_arrow_keys_counts() {
        let mut watch = CursorWatch::default();
        for (why, output, want) in [
            ("nothing yet", &b"hello"[..], CursorKeys::Normal),
            ("cut in two", b"x\x1b[?", CursorKeys::Normal),
            ("the rest of it", b"1h", CursorKeys::Application),
            ("unrelated output", b"abcdef", CursorKeys::Application),
            ("on and off again in one piece", b"\x1b[?1h\x1b[?1l", CursorKeys::Normal),
        ] {
            watch.see(output);
            assert_eq!(watch.mode(), want, "{why}");
        }
    }
}
