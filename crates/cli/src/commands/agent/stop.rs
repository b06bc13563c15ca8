//! What the interrupt key stops, and what is tidied up when the program is told to end.
//!
//! Invariant: the terminal is given back before the program ends by a signal, and nobody takes it again.

use super::keyboard::Found;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::terminal::{SignalAction, SignalEvent, on_signals};
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a turn may take to end its children and its records.
const GRACE: Duration = Duration::from_secs(3);

/// The turn that an interrupt would stop.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    turn: Option<CancelToken>,
    is_ending: bool,
}

impl Stop {
    /// Listens for signals; to be called before any thread is started.
    pub(super) fn listen() -> io::Result<Self> {
        let stop = Self::default();
        let (shared, found) = (stop.clone(), Found::now());
        on_signals(move |told| match told {
            SignalEvent::Interrupt if shared.interrupt() => SignalAction::Continue,
            _ => {
                shared.end_turn();
                found.restore();
                if found.is_terminal() && rustix::termios::isatty(io::stdout()) {
                    let _gone = io::stdout().write_all(b"\x1b[?2004l\r\n");
                }
                SignalAction::Die
            }
        })?;
        Ok(stop)
    }

    /// Says which turn runs.
    pub(super) fn runs(&self, halt: &CancelToken) {
        self.state().turn = Some(halt.clone());
    }

    /// Says that none does. Where the program is told to end, this is the last that its main thread does.
    pub(super) fn rests(&self) {
        self.state().turn = None;
        self.0.changed.notify_all();
        self.wait_for_the_end();
    }

    /// Does not return when the program is about to end: whoever waits here does not touch the terminal any more.
    pub(super) fn wait_for_the_end(&self) {
        while self.state().is_ending {
            std::thread::park();
        }
    }

    /// The first interrupt stops the turn; the next one is for the program.
    fn interrupt(&self) -> bool {
        let turn = self.state().turn.clone();
        let turn = turn.filter(|halt| !halt.is_cancelled());
        turn.iter().for_each(CancelToken::cancel);
        turn.is_some()
    }

    /// Stops the turn and waits for it: its children are ended and their end is on record.
    fn end_turn(&self) {
        let mut state = self.state();
        state.is_ending = true;
        state.turn.iter().for_each(CancelToken::cancel);
        let is_running = |state: &mut State| state.turn.is_some();
        drop(self.0.changed.wait_timeout_while(state, GRACE, is_running));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
