//! A person's terminal in raw mode, given back on every way out.
//!
//! Invariant: the settings that were found are the settings that are left.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io;

/// The terminal in raw mode; dropping this gives it back.
pub(super) struct RawMode {
    found: Termios,
    raw: Termios,
}

impl RawMode {
    /// Every key is passed on as it is.
    pub(super) fn enter() -> io::Result<Self> {
        let found = tcgetattr(rustix::stdio::stdin())?;
        let mut raw = found.clone();
        raw.make_raw();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &raw)?;
        Ok(Self { found, raw })
    }

    /// Gives the terminal back for a while.
    pub(super) fn leave(&self) {
        let _gone = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &self.found);
    }

    /// Takes it again.
    pub(super) fn resume(&self) {
        let _gone = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &self.raw);
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.leave();
    }
}
