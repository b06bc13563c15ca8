//! The thread that every child is started from.
//!
//! The kernel ties a child to the *thread* that made it (W77): one from a pooled thread would die with that thread.
//!
//! Invariant: the thread that clones lives as long as the program.

use crate::launch::harden::adopts_orphans;
use picoclaw_sys::linux::{Script, Spawned, end_strays, spawn};
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};

type Answer = io::Result<(Spawned, Script)>;
type Request = (Script, std::sync::mpsc::SyncSender<Answer>);

static LAUNCHER: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();
static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Starts a keeper for `script`, and gives the script back for the names of its steps.
pub(super) fn launch(script: Script) -> Answer {
    // The main thread lives as long as the program, and saves the way to another.
    if rustix::thread::gettid() == rustix::process::getpid() {
        return clone(script);
    }
    let sender =
        LAUNCHER.get_or_init(|| Mutex::new(begin())).lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (answer, answered) = sync_channel(1);
    sender.send((script, answer)).map_err(|_| io::Error::other("the launcher thread is gone"))?;
    answered.recv().map_err(|_| io::Error::other("the launcher thread is gone"))?
}

/// Takes a keeper that was waited for off the list.
pub(super) fn forget(pid: i32) {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
}

/// Ends what a killed keeper has left to us.
pub(super) fn sweep() -> usize {
    if !adopts_orphans() {
        return 0;
    }
    // Held throughout: a keeper that is just being born must not be taken for a stray.
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    end_strays(&live.iter().copied().collect::<Vec<_>>())
}

fn begin() -> Sender<Request> {
    let (sender, requests) = channel();
    // If the thread cannot be had, the receiver is dropped with the closure and every request says so.
    let _ = std::thread::Builder::new()
        .name("picoclaw-launch".into())
        .stack_size(256 << 10)
        .spawn(move || serve(requests));
    sender
}

fn serve(requests: Receiver<Request>) {
    for (script, answer) in requests {
        // A caller that no longer listens drops the answer, and the closed control socket ends the child.
        let _ = answer.send(clone(script));
    }
}

fn clone(script: Script) -> Answer {
    let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let spawned = spawn(&script)?;
    live.insert(spawned.pid);
    Ok((spawned, script))
}
