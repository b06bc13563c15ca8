//! Ends a tree at its limits, from a thread of this process: the tree can neither signal nor
//! outnumber it.
//!
//! Where a cgroup counts, the kernel refuses forks and kills one process at the memory limit, and
//! this thread the rest. Elsewhere it counts by itself, as often as a count is short.

use crate::launch::linux::cgroup::{Cgroup, MemoryEvents, TreeLimits};
use crate::launch::linux::supervisor_handle::{SupervisorHandle, wait_readable};
use crate::launch::linux::tmp_usage::TmpUsage;
use crate::launch::linux::tree_memory::{Kinds, TreeMemory};
use crate::launch::status::Status;
use picoclaw_sys::linux::{descendants, prefer_short_slices};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Between two checks, at least.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two checks, as a multiple of the time that one takes.
const PAUSE_FACTOR: u32 = 3;
/// Processes beside the command's: bubblewrap's own, and the killer.
const CAGE_PROCESSES: u64 = 3;
/// A tree that could not be counted this many times in a row counts as too large.
const MAX_FAILED_COUNTS: u32 = 40;

/// Watches a tree until its supervisor has exited.
pub(super) fn watch(
    supervisor: &Arc<SupervisorHandle>,
    limits: TreeLimits,
    private_dirs: Vec<PathBuf>,
) -> io::Result<()> {
    if limits == TreeLimits::default() && private_dirs.is_empty() {
        return Ok(());
    }
    let pidfd = supervisor.shared_pidfd();
    let watch = Watch {
        supervisor: Arc::downgrade(supervisor),
        pid: supervisor.pid(),
        cgroup: supervisor.cgroup().map(Cgroup::memory_events),
        limits,
        tmp: supervisor.shared_tmp(),
        max_tasks: supervisor.shared_max_tasks(),
        memory: TreeMemory::new(private_dirs)?,
        failed_counts: 0,
    };
    let name = "watch".to_owned();
    thread::Builder::new().name(name).spawn(move || watch.run(pidfd.as_fd())).map(drop)
}

struct Watch {
    /// The last holder reaps the supervisor before the program ends, so this thread is none while
    /// it counts.
    supervisor: Weak<SupervisorHandle>,
    pid: i32,
    cgroup: Option<MemoryEvents>,
    limits: TreeLimits,
    /// `None` where the tree has no tmpfs of its own.
    tmp: Option<Arc<TmpUsage>>,
    max_tasks: Arc<AtomicU64>,
    memory: TreeMemory,
    failed_counts: u32,
}

impl Watch {
    fn run(mut self, pidfd: std::os::fd::BorrowedFd<'_>) {
        prefer_short_slices();
        let mut pause = PAUSE;
        let mut count_all_at = Instant::now();
        while !wait_readable(&[pidfd], Some(Instant::now() + pause)) {
            let start = Instant::now();
            let kinds = if start >= count_all_at { Kinds::All } else { Kinds::Anonymous };
            if let Some(tmp) = &self.tmp {
                tmp.find(self.pid);
                tmp.look();
            }
            let reached = match &self.cgroup {
                Some(events) => events.ran_out_of_memory().then_some(Status::OutOfMemory),
                None => self.count(kinds),
            };
            if let Some(status) = reached {
                return self.supervisor.upgrade().map_or((), |supervisor| supervisor.end_at_limit(status));
            }
            let later = start.elapsed() * PAUSE_FACTOR;
            match kinds {
                Kinds::All => (count_all_at, pause) = (Instant::now() + later, PAUSE),
                Kinds::Anonymous => pause = PAUSE.max(later),
            }
        }
    }

    /// The limit that the tree is above.
    fn count(&mut self, kinds: Kinds) -> Option<Status> {
        let TreeLimits { memory_bytes, processes } = self.limits;
        if self.limits == TreeLimits::default() {
            return None;
        }
        let Some(pids) = descendants(self.pid) else { return self.failed() };
        if processes > 0 && pids.len() as u64 > processes.saturating_add(CAGE_PROCESSES) {
            return Some(Status::OutOfProcesses);
        }
        if processes > 0 {
            let tasks: usize = pids.iter().map(|pid| threads(*pid)).sum();
            self.max_tasks.fetch_max(tasks as u64, Ordering::Relaxed);
        }
        let is_over = memory_bytes > 0 && {
            let Ok(is_over) = self.memory.exceeds(&pids, memory_bytes, kinds) else { return self.failed() };
            is_over
        };
        self.failed_counts = 0;
        is_over.then_some(Status::OutOfMemory)
    }

    fn failed(&mut self) -> Option<Status> {
        self.failed_counts += 1;
        (self.failed_counts >= MAX_FAILED_COUNTS).then_some(Status::OutOfMemory)
    }
}

/// The threads of a process; none of one that has ended.
fn threads(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}
