//! A person's terminal, for as long as this process is in front of it.
//!
//! Invariant: the settings that were found are the settings that are left, and whoever is behind changes none.

use crate::launch::is_in_front;
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal: in raw mode while it is ours. Dropping this gives it back.
pub(super) struct Seat {
    found: Option<Termios>,
}

impl Seat {
    /// Takes the terminal, if it is to be had.
    pub(super) fn take() -> Self {
        let mut seat = Self { found: None };
        seat.settle();
        seat
    }

    /// Whether keys are ours to read.
    pub(super) fn is_ours(&self) -> bool {
        self.found.is_some()
    }

    /// Finds out anew whose the terminal is: who goes on after a stop may be behind now, or in front again.
    pub(super) fn settle(&mut self) {
        if !is_in_front() {
            self.found = None;
        } else if let (None, Ok(found)) = (&self.found, tcgetattr(stdin())) {
            self.found = Some(found);
            self.make_raw();
        }
    }

    /// As [`Seat::settle`], after a stop that came without a warning: whoever was in front meanwhile had settings of
    /// its own.
    pub(super) fn settle_again(&mut self) {
        self.settle();
        self.make_raw();
    }

    /// Gives the terminal back.
    pub(super) fn leave(&mut self) {
        if let Some(found) = self.found.take() {
            // A terminal that is gone needs no giving back.
            let _gone = tcsetattr(stdin(), OptionalActions::Drain, &found);
        }
    }

    fn make_raw(&self) {
        if let Some(found) = &self.found {
            let mut raw = found.clone();
            raw.make_raw();
            // What was typed ahead stays: it is for the child.
            let _gone = tcsetattr(stdin(), OptionalActions::Drain, &raw);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}
