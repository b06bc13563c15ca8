//! Splits output into lines and filters secrets before the watcher gets it.

use picoclaw_sandbox::Redactor;
use std::sync::{Mutex, PoisonError};

/// A longer line is passed on in pieces.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Buffers output until a line is complete.
pub(super) struct OutputLines<'l> {
    redactor: &'l Redactor,
    watcher: &'l (dyn Fn(&[u8]) + Sync),
    rest: Mutex<Vec<u8>>,
}

impl<'l> OutputLines<'l> {
    pub(super) fn new(redactor: &'l Redactor, watcher: &'l (dyn Fn(&[u8]) + Sync)) -> Self {
        Self { redactor, watcher, rest: Mutex::new(Vec::new()) }
    }

    /// Adds output and passes complete lines on.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") || rest.len() >= MAX_LINE_BYTES {
                self.pass_on(&std::mem::take(&mut *rest));
            }
        }
    }

    /// Passes the last, incomplete line on.
    pub(super) fn finish(&self) {
        let rest = std::mem::take(&mut *self.rest.lock().unwrap_or_else(PoisonError::into_inner));
        if !rest.is_empty() {
            self.pass_on(&rest);
        }
    }

    fn pass_on(&self, line: &[u8]) {
        (self.watcher)(self.redactor.clean(&String::from_utf8_lossy(line)).as_bytes());
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
}
