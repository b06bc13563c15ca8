//! String literals.
//!
//! Invariant: a backslash that JSON gives no meaning to is a fault, never a guess.

use super::reader::{Reader, Stop};
use crate::config::fault::Problem;

/// A control character that an escape put into a string: where it stands and how it is spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Control {
    /// Where the string begins.
    pub(crate) text: usize,
    /// Where the escape stands.
    pub(crate) at: usize,
    /// The escape.
    pub(crate) spelling: String,
}

impl Reader<'_> {
    /// Reads the string literal that begins here.
    pub(super) fn string(&mut self) -> Result<String, Stop> {
        let start = self.at;
        self.at += 1;
        let mut decoded = String::new();
        loop {
            let run = self.run();
            decoded.push_str(run);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(decoded);
                }
                Some(b'\\') => self.escape(start, &mut decoded)?,
                Some(b'\n' | b'\r') | None => {
                    return Err(self.stop(start, Problem::OpenString, "close it with `\"` on the same line"));
                }
                Some(control) => {
                    let spelled = format!("write it as `\\u{control:04x}`");
                    self.fault(self.at, Problem::RawControl { byte: control }, spelled)?;
                    self.at += 1;
                }
            }
        }
    }

    /// The characters up to the next one that means something.
    fn run(&mut self) -> &str {
        let from = self.at;
        let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
        let rest = &self.bytes()[from..];
        self.at += rest.iter().position(special).unwrap_or(rest.len());
        &self.text()[from..self.at]
    }

    fn escape(&mut self, string: usize, decoded: &mut String) -> Result<(), Stop> {
        let at = self.at;
        let Some(kind) = self.text()[at + 1..].chars().next() else {
            return Err(self.stop(string, Problem::OpenString, "close it with `\"` on the same line"));
        };
        self.at += 1 + kind.len_utf8();
        let meant = match kind {
            '"' | '\\' | '/' => kind,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => match self.unicode() {
                Some(meant) => meant,
                None => {
                    let hint = "four hexadecimal digits follow `\\u`, and both halves of a pair are needed";
                    return self.fault(at, Problem::BadUnicode, hint.to_owned());
                }
            },
            _ => {
                // Kept as it stands: the fault is noted, and whatever follows is worth reading.
                decoded.push('\\');
                decoded.push(kind);
                let shown: String = kind.escape_debug().collect();
                let hint = format!("double the backslash: `\\\\{shown}`");
                return self.fault(at, Problem::UndefinedEscape { escape: shown }, hint);
            }
        };
        if meant.is_control() {
            let spelling = self.text()[at..self.at].to_owned();
            self.controls.push(Control { text: string, at, spelling });
        }
        decoded.push(meant);
        Ok(())
    }

    /// The character of a `\u` escape whose `u` has just been passed; a pair of them where one is only half.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if !self.text()[self.at..].starts_with("\\u") {
            return None;
        }
        let before = self.at;
        self.at += 2;
        match self.hex() {
            Some(second) if (0xdc00..0xe000).contains(&second) => {
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            }
            _ => {
                self.at = before;
                None
            }
        }
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text().get(self.at..self.at + 4)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
