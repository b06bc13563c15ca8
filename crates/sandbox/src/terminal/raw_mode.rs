//! Raw mode of the user's terminal while this process is in the foreground.

use crate::launch::is_foreground;
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// A guard for raw mode. Dropping it restores the settings.
pub(super) struct RawMode {
    /// The settings before raw mode; `None` while it is not active.
    original: Option<Termios>,
}

impl RawMode {
    /// Enters raw mode, if this process is in the foreground of a terminal.
    pub(super) fn new() -> Self {
        let mut raw_mode = Self { original: None };
        raw_mode.update();
        raw_mode
    }

    /// Whether raw mode is active, and keys may be read.
    pub(super) fn is_active(&self) -> bool {
        self.original.is_some()
    }

    /// Enters raw mode after a change to the foreground, and forgets it after a change to the background.
    pub(super) fn update(&mut self) {
        if !is_foreground() {
            self.original = None;
        } else if let (None, Ok(original)) = (&self.original, tcgetattr(stdin())) {
            self.original = Some(original);
            self.set_raw();
        }
    }

    /// The same after a stop that was not announced: another process may have changed the settings meanwhile.
    pub(super) fn reapply(&mut self) {
        self.update();
        self.set_raw();
    }

    /// Restores the settings.
    pub(super) fn restore(&mut self) {
        if let Some(original) = self.original.take() {
            // The terminal may be gone.
            let _gone = tcsetattr(stdin(), OptionalActions::Drain, &original);
        }
    }

    fn set_raw(&self) {
        if let Some(original) = &self.original {
            let mut raw = original.clone();
            raw.make_raw();
            // Without discarding input: what was typed ahead is for the child.
            let _gone = tcsetattr(stdin(), OptionalActions::Drain, &raw);
        }
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.restore();
    }
}
