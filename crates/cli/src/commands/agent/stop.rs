//! What the interrupt key stops, and what is tidied up when the program is told to end.
//!
//! Invariant: the terminal is given back before the program ends by a signal.

use super::keyboard::Found;
use picoclaw_sandbox::launch::Halt;
use picoclaw_sandbox::relay::{Then, Told, on_signals};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The turn that an interrupt would stop.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<Mutex<Option<Halt>>>);

impl Stop {
    /// Listens for signals; to be called before any thread is started.
    pub(super) fn listen() -> io::Result<Self> {
        let stop = Self::default();
        let (turn, found) = (stop.clone(), Found::now());
        on_signals(move |told| {
            let running = turn.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            match (told, running) {
                // The first interrupt stops the turn, the next one the program.
                (Told::Interrupt, Some(halt)) => {
                    halt.raise();
                    Then::Stay
                }
                (_, running) => {
                    // Children are ended with the turn: nobody would be left to wait for them.
                    running.iter().for_each(Halt::raise);
                    found.restore();
                    if rustix::termios::isatty(io::stdout()) && found.is_terminal() {
                        let _gone = io::stdout().write_all(b"\x1b[?2004l\r\n");
                    }
                    Then::End
                }
            }
        })?;
        Ok(stop)
    }

    /// Says which turn runs.
    pub(super) fn runs(&self, halt: &Halt) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(halt.clone());
    }

    /// Says that none does.
    pub(super) fn rests(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
