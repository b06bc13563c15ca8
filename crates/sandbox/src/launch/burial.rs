//! Keepers on their way out, waited for by somebody who has the time.
//!
//! When nobody is left of a tree, its keeper says so and exits; the kernel then takes the keeper's namespaces apart, which
//! may take longer than the command did. Whoever asked for the command need not wait for that.
//!
//! Invariant: every keeper that is handed in is waited for, unless this process ends first.

use crate::launch::handle::is_readable;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the thread stays when there is nothing to do.
const IDLE: Duration = Duration::from_secs(10);

/// Keepers that the end of this program waits for, and nobody before.
static LAST: Mutex<Vec<Arc<OwnedFd>>> = Mutex::new(Vec::new());
static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: Vec::new(), under_way: 0, served: false });
static WAKE: Condvar = Condvar::new();
static DONE: Condvar = Condvar::new();

struct Queue {
    waiting: Vec<Arc<OwnedFd>>,
    /// How many are being waited for.
    under_way: usize,
    /// Whether the thread is there.
    served: bool,
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a keeper that has ended.
pub(super) fn bury(pidfd: &OwnedFd) {
    // At the worst it was swept up already.
    let _ = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
}

/// Has a keeper waited for that is on its way out.
pub(super) fn bury_later(pidfd: &Arc<OwnedFd>) {
    let ended = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    if !matches!(ended, Ok(None)) {
        return;
    }
    let mut queue = queue();
    queue.waiting.push(Arc::clone(pidfd));
    if queue.served {
        WAKE.notify_one();
        return;
    }
    let thread = thread::Builder::new().name("reap".to_owned()).spawn(serve);
    queue.served = thread.is_ok();
    if thread.is_err() {
        // No thread to be had: then it is waited for here.
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        waiting.iter().for_each(|pidfd| bury(pidfd));
    }
}

/// Has a keeper waited for that is on its way out, by a program that is too.
pub(super) fn bury_last(pidfd: &Arc<OwnedFd>) {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(pidfd));
}

/// Waits until no keeper is on its way out: for a program that ends, since not everybody who would inherit them waits for
/// them. What the kernel holds longer is left to the system.
pub fn wait_for_keepers() {
    const MOST: Duration = Duration::from_secs(2);
    for pidfd in LAST.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        if is_readable(pidfd.as_fd(), MOST) {
            bury(&pidfd);
        }
    }
    let busy = |queue: &mut Queue| queue.under_way > 0 || !queue.waiting.is_empty();
    drop(DONE.wait_timeout_while(queue(), MOST, busy).unwrap_or_else(PoisonError::into_inner));
}

fn serve() {
    let mut queue = queue();
    loop {
        let idle = WAKE.wait_timeout_while(queue, IDLE, |queue| queue.waiting.is_empty());
        queue = idle.unwrap_or_else(PoisonError::into_inner).0;
        let waiting = std::mem::take(&mut queue.waiting);
        if waiting.is_empty() {
            queue.served = false;
            return;
        }
        queue.under_way = waiting.len();
        drop(queue);
        waiting.into_iter().for_each(|pidfd| bury(&pidfd));
        queue = self::queue();
        queue.under_way = 0;
        DONE.notify_all();
    }
}
