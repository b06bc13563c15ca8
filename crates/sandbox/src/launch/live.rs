//! The keepers that are alive, so that what hangs below us without one can be told apart.
//!
//! Any thread may start a child: a keeper hangs on its control socket, which closes with this *process*, and not on
//! the thread that made it, which may end long before (W77).
//!
//! Invariant: between a keeper's birth and its entry here nobody sweeps.

use crate::launch::harden::adopts_orphans;
use picoclaw_sys::linux::{ChildSpec, Spawned, kill_orphans, spawn};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<i32>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a keeper for `script`.
pub(super) fn launch(script: &Arc<ChildSpec>) -> io::Result<Spawned> {
    let mut live = live();
    let spawned = spawn(script)?;
    live.insert(spawned.pid);
    Ok(spawned)
}

/// Takes a keeper off the list, when nobody is left below it. To be called before it is waited for: after that its number
/// may be a new keeper's.
pub(super) fn forget(pid: i32) {
    live().remove(&pid);
}

/// Ends what a killed keeper has left to us.
pub(super) fn sweep() -> usize {
    if !adopts_orphans() {
        return 0;
    }
    let live = live();
    kill_orphans(&live.iter().copied().collect::<Vec<_>>())
}
