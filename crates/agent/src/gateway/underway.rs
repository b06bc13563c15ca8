//! Turns that run, so that an end can wait for them.
//!
//! Invariant: whatever runs is counted until it is over, also when whoever wanted it is gone.

use picoclaw_sandbox::launch::Halt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Turns that run. Copies are the same.
#[derive(Clone, Default)]
pub(super) struct Underway(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    over: Notify,
}

#[derive(Default)]
struct State {
    running: BTreeMap<u64, Halt>,
    last: u64,
    is_closed: bool,
}

/// One turn that runs; dropped, it is over.
pub(super) struct Ride {
    underway: Underway,
    id: u64,
}

impl Underway {
    /// Begins a turn; `None` when the gateway ends.
    pub(super) fn begin(&self, halt: &Halt) -> Option<Ride> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        state.last += 1;
        let id = state.last;
        state.running.insert(id, halt.clone());
        Some(Ride { underway: self.clone(), id })
    }

    /// How many run.
    pub(super) fn count(&self) -> usize {
        self.state().running.len()
    }

    /// Lets no more begin.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
    }

    /// Asks all of them to stop.
    pub(super) fn halt(&self) {
        let halts: Vec<Halt> = self.state().running.values().cloned().collect();
        halts.iter().for_each(Halt::raise);
    }

    /// Waits until none runs.
    pub(super) async fn over(&self) {
        loop {
            let over = self.0.over.notified();
            if self.count() == 0 {
                return;
            }
            over.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ride {
    fn drop(&mut self) {
        self.underway.state().running.remove(&self.id);
        self.underway.0.over.notify_waiters();
    }
}

/// Raises a halt when whoever wanted the turn is gone; harmless after its end.
pub(super) struct Wanted(pub(super) Halt);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.raise();
    }
}
