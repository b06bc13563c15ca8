//! Ctrl-C and termination signals: stop the turn, restore the terminal, end the process.

use super::raw_input::TerminalState;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::terminal::{SignalAction, SignalEvent, on_signals};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a turn may take to end its children and write its records.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The turn that an interrupt stops.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<Shared>);

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

impl Interrupt {
    /// Registers signal handlers; must run before any thread is started.
    pub(super) fn listen() -> io::Result<Self> {
        let stop = Self::default();
        let (shared, found) = (stop.clone(), TerminalState::now());
        on_signals(move |told| match told {
            SignalEvent::Interrupt if shared.interrupt() => SignalAction::Continue,
            _ => {
                shared.end_turn();
                found.restore();
                if found.is_terminal() && io::stdout().is_terminal() {
                    let _gone = io::stdout().write_all(b"\x1b[?2004l\r\n");
                }
                SignalAction::Die
            }
        })?;
        Ok(stop)
    }

    /// Registers the running turn.
    pub(super) fn turn_started(&self, halt: &CancelToken) {
        self.state().turn = Some(halt.clone());
    }

    /// Unregisters the turn. On termination this does not return.
    pub(super) fn turn_ended(&self) {
        self.state().turn = None;
        self.0.changed.notify_all();
        self.wait_for_exit();
    }

    /// Blocks if the process is about to end, so that the caller does not touch the terminal any
    /// more.
    pub(super) fn wait_for_exit(&self) {
        while self.state().is_ending {
            std::thread::park();
        }
    }

    /// The first interrupt stops the turn; the next one ends the process.
    fn interrupt(&self) -> bool {
        let turn = self.state().turn.clone();
        let turn = turn.filter(|halt| !halt.is_cancelled());
        turn.iter().for_each(CancelToken::cancel);
        turn.is_some()
    }

    /// Stops the turn and waits until its children have ended and their end is recorded.
    fn end_turn(&self) {
        let mut state = self.state();
        state.is_ending = true;
        state.turn.iter().for_each(CancelToken::cancel);
        let is_running = |state: &mut State| state.turn.is_some();
        drop(self.0.changed.wait_timeout_while(state, EXIT_TIMEOUT, is_running));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
