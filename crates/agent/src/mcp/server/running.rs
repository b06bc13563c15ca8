//! The calls that run for one connection.
//!
//! Invariant: when the client is gone, every call of its hears so at once.

use picoclaw_sandbox::launch::Halt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    halts: BTreeMap<u64, Halt>,
    is_over: bool,
}

/// A call's place in the table; it leaves when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    running: Running,
    number: u64,
}

impl Running {
    /// Puts a call in; one that comes too late is halted before it begins.
    pub(super) fn enter(&self, halt: &Halt) -> Place {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.is_over {
            halt.raise();
        }
        table.next += 1;
        let number = table.next;
        table.halts.insert(number, halt.clone());
        Place { running: self.clone(), number }
    }

    /// Halts everything, also what is still to come.
    pub(super) fn halt_all(&self) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.is_over = true;
        for halt in table.halts.values() {
            halt.raise();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.running.0.lock().unwrap_or_else(PoisonError::into_inner).halts.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_gone_halts_what_runs_and_what_comes() {
        let running = Running::default();
        let (done, going, late) = (Halt::new(), Halt::new(), Halt::new());
        drop(running.enter(&done));
        let _going = running.enter(&going);
        running.halt_all();
        let _late = running.enter(&late);
        assert_eq!([done.is_raised(), going.is_raised(), late.is_raised()], [false, true, true]);
    }
}
