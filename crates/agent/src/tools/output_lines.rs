//! Splits output into lines and filters secrets before the watcher gets it.

use picoclaw_sandbox::Redactor;
use std::sync::{Mutex, PoisonError};

/// A longer line is passed on in pieces.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Buffers output until a line is complete, and what may be the beginning of a secret until that is
/// known.
pub(super) struct OutputLines<'l> {
    redactor: &'l Redactor,
    watcher: &'l (dyn Fn(&[u8]) + Sync),
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    line: Vec<u8>,
    /// Complete lines; a secret may begin in one and end in another.
    text: String,
}

impl Pending {
    fn end_line(&mut self) {
        self.text.push_str(&String::from_utf8_lossy(&self.line));
        self.line.clear();
    }
}

impl<'l> OutputLines<'l> {
    pub(super) fn new(redactor: &'l Redactor, watcher: &'l (dyn Fn(&[u8]) + Sync)) -> Self {
        Self { redactor, watcher, pending: Mutex::default() }
    }

    /// Adds output and passes complete lines on.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            pending.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || pending.line.len() >= MAX_LINE_BYTES {
                pending.end_line();
                self.pass_on(&self.redactor.ready(&mut pending.text));
            }
        }
    }

    /// Passes the rest on.
    pub(super) fn finish(&self) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.end_line();
        self.pass_on(&self.redactor.clean_own(std::mem::take(&mut pending.text)));
    }

    fn pass_on(&self, text: &str) {
        if !text.is_empty() {
            (self.watcher)(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_heard_whole_however_they_came() {
        let heard = Mutex::new(Vec::new());
        let watcher = |line: &[u8]| heard.lock().unwrap().push(String::from_utf8(line.to_vec()).unwrap());
        let redactor = Redactor::new(&["hunter22".to_owned()]);
        let lines = OutputLines::new(&redactor, &watcher);
        for piece in ["one\ntw", "o hun", "ter22\nth", "ree"] {
            lines.push(piece.as_bytes());
        }
        lines.finish();
        assert_eq!(*heard.lock().unwrap(), ["one\n", "two [FILTERED]\n", "three"]);
    }

    #[test]
    fn a_secret_of_several_lines_or_across_a_long_line_is_filtered() {
        let key = "-----BEGIN-----\nAbCdEf0123456789\n-----END-----";
        let redactor = Redactor::new(&[key.to_owned()]);
        for before in [String::new(), "x".repeat(MAX_LINE_BYTES - 5)] {
            let heard = Mutex::new(String::new());
            let watcher = |text: &[u8]| heard.lock().unwrap().push_str(std::str::from_utf8(text).unwrap());
            let lines = OutputLines::new(&redactor, &watcher);
            for byte in format!("{before}{key}\nafter").into_bytes() {
                lines.push(&[byte]);
            }
            lines.finish();
            assert_eq!(*heard.lock().unwrap(), format!("{before}[FILTERED]\nafter"));
        }
    }
}
