//! Output on its way to whoever watches: cut into lines, secrets filtered.
//!
//! Invariant: a line is heard whole or in bounded pieces, and never before it was gone over.

use picoclaw_sandbox::Redactor;
use std::sync::{Mutex, PoisonError};

/// A line longer than this is passed on in pieces.
const MOST: usize = 4 << 10;

/// Gathers bytes and passes lines on.
pub(super) struct Lines<'l> {
    redactor: &'l Redactor,
    watcher: &'l (dyn Fn(&[u8]) + Sync),
    rest: Mutex<Vec<u8>>,
}

impl<'l> Lines<'l> {
    pub(super) fn new(redactor: &'l Redactor, watcher: &'l (dyn Fn(&[u8]) + Sync)) -> Self {
        Self { redactor, watcher, rest: Mutex::new(Vec::new()) }
    }

    /// Takes what came; whole lines are passed on.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") || rest.len() >= MOST {
                self.tell(&std::mem::take(&mut *rest));
            }
        }
    }

    /// Passes the rest on.
    pub(super) fn finish(&self) {
        let rest = std::mem::take(&mut *self.rest.lock().unwrap_or_else(PoisonError::into_inner));
        if !rest.is_empty() {
            self.tell(&rest);
        }
    }

    fn tell(&self, line: &[u8]) {
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
        let lines = Lines::new(&redactor, &watcher);
        for piece in ["one\ntw", "o hun", "ter22\nth", "ree"] {
            lines.push(piece.as_bytes());
        }
        lines.finish();
        assert_eq!(*heard.lock().unwrap(), ["one\n", "two [FILTERED]\n", "three"]);
    }
}
