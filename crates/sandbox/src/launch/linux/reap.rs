//! The supervisors of this process: which are alive, and reaping those that have ended.
//!
//! A supervisor reports the end of its tree before it exits, since the kernel may take longer to
//! remove its namespaces than the command ran. It is then reaped by a background thread.

use crate::launch::linux::harden::is_subreaper;
use picoclaw_sys::linux::{ChildSpec, Spawned, spawn};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the reaper thread stays without work.
const REAPER_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the end of the program waits for supervisors.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The pids of supervisors that are alive: any other child of this process is an orphan.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: Vec::new(), in_progress: 0, has_thread: false });
static HAS_WORK: Condvar = Condvar::new();
static IS_DONE: Condvar = Condvar::new();

struct Queue {
    waiting: Vec<Arc<OwnedFd>>,
    in_progress: usize,
    has_thread: bool,
}

fn supervisors() -> MutexGuard<'static, BTreeSet<i32>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a supervisor, from a thread that lives as long as this process: the kernel kills it when
/// that thread ends.
pub(super) fn spawn_supervisor(spec: &Arc<ChildSpec>) -> io::Result<Spawned> {
    static SPAWNER: Mutex<Option<Sender<SpawnRequest>>> = Mutex::new(None);
    if rustix::thread::gettid() == rustix::process::getpid() {
        return spawn_here(spec);
    }
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if spawner.is_none() {
        let (sender, requests) = mpsc::channel();
        thread::Builder::new().name("spawn".to_owned()).spawn(move || serve_requests(&requests))?;
        *spawner = Some(sender);
    }
    let (reply, answer) = mpsc::sync_channel(1);
    let sent = spawner.as_ref().map(|spawner| spawner.send(SpawnRequest { spec: Arc::clone(spec), reply }));
    drop(spawner);
    match (sent, answer.recv()) {
        (Some(Ok(())), Ok(spawned)) => spawned,
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

struct SpawnRequest {
    spec: Arc<ChildSpec>,
    reply: SyncSender<io::Result<Spawned>>,
}

fn serve_requests(requests: &Receiver<SpawnRequest>) {
    for SpawnRequest { spec, reply } in requests {
        let spawned = spawn_here(&spec);
        drop(spec);
        // The thread that asked waits for it.
        let _ = reply.send(spawned);
    }
}

/// The list is locked meanwhile, so that a new supervisor is never taken for an orphan.
fn spawn_here(spec: &ChildSpec) -> io::Result<Spawned> {
    let mut supervisors = supervisors();
    let spawned = spawn(spec)?;
    supervisors.insert(spawned.pid);
    Ok(spawned)
}

/// Runs `make`, whose short-lived child is not to be taken for an orphan either.
pub(super) fn without_orphans<T>(make: impl FnOnce() -> T) -> T {
    let _supervisors = supervisors();
    make()
}

/// Takes a supervisor off the list. Called before it is reaped: afterwards its pid may be a new
/// supervisor's.
pub(super) fn unregister(pid: i32) {
    supervisors().remove(&pid);
}

/// Whether a child of this process runs.
pub(crate) fn has_children() -> bool {
    !supervisors().is_empty()
}

/// Kills the processes that a killed supervisor has left to this one.
pub(super) fn kill_orphans() {
    if is_subreaper() {
        let supervisors = supervisors();
        picoclaw_sys::linux::kill_orphans(&supervisors.iter().copied().collect::<Vec<_>>());
    }
}

/// Reaps a supervisor that has ended.
pub(super) fn reap(pidfd: &OwnedFd) {
    // The only possible failure is that it was reaped before.
    let _ = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
}

/// Reaps a supervisor that is about to exit.
pub(super) fn reap_in_background(pidfd: &Arc<OwnedFd>) {
    let ended = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    if !matches!(ended, Ok(None)) {
        return;
    }
    let mut queue = queue();
    queue.waiting.push(Arc::clone(pidfd));
    if queue.has_thread {
        HAS_WORK.notify_one();
        return;
    }
    queue.has_thread = thread::Builder::new().name("reap".to_owned()).spawn(serve).is_ok();
    if !queue.has_thread {
        // Without a thread it is reaped here.
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        waiting.iter().for_each(|pidfd| reap(pidfd));
    }
}

/// Waits until every supervisor that is about to exit has been reaped, for two seconds at most. For
/// the end of the program: a parent that does not reap would keep them as zombies.
pub fn wait_for_supervisors() {
    let is_busy = |queue: &mut Queue| queue.in_progress > 0 || !queue.waiting.is_empty();
    drop(IS_DONE.wait_timeout_while(queue(), EXIT_TIMEOUT, is_busy).unwrap_or_else(PoisonError::into_inner));
}

fn serve() {
    let mut queue = queue();
    loop {
        let waited =
            HAS_WORK.wait_timeout_while(queue, REAPER_IDLE_TIMEOUT, |queue| queue.waiting.is_empty());
        queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        let waiting = std::mem::take(&mut queue.waiting);
        if waiting.is_empty() {
            queue.has_thread = false;
            return;
        }
        queue.in_progress = waiting.len();
        drop(queue);
        waiting.into_iter().for_each(|pidfd| reap(&pidfd));
        queue = self::queue();
        queue.in_progress = 0;
        IS_DONE.notify_all();
    }
}
