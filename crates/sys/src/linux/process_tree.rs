//! The descendants of this process, found through `/proc` and signalled by pidfd.
//!
//! A process can leave its group, its session and its parent, but not the tree of a subreaper. A
//! pid read from `/proc` may belong to another process a moment later, so each one is pinned by a
//! pidfd and looked up again before it is signalled.
//!
//! Invariant: a [`ProcessTree`] allocates only when it is created.

use crate::linux::proc_stat::ProcStat;
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal, waitpid};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// The most processes that one scan of `/proc` takes in; the next scan finds the rest.
const MAX_PROCESSES: usize = 32_768;
/// How often orphans are looked for: killing one hands its children over, and a fork bomb must not
/// hold the caller.
const MAX_ORPHAN_SCANS: usize = 64;
/// How long orphans may take to end by themselves, and between two looks at them.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);
const ORPHAN_PAUSE: Duration = Duration::from_millis(25);

#[derive(Clone, Copy)]
struct Process {
    pid: i32,
    parent: i32,
    /// All its threads have ended, and its parent has not reaped it yet.
    has_ended: bool,
    is_selected: bool,
}

/// The descendants of process `root` that have not ended; `None` when `/proc` could not be read.
pub fn descendants(root: i32) -> Option<Vec<i32>> {
    let mut tree = ProcessTree::new();
    tree.select_descendants(root)
        .then(|| tree.selected().filter(|process| !process.has_ended).map(|process| process.pid).collect())
}

/// Ends every child of this process that is not in `supervisors`, and what then falls to this
/// process. For a subreaper all of whose children are supervisors: any other has lost its
/// supervisor. Most end by themselves, killed by the kernel or by the [killer](crate::linux::spawn)
/// of their tree, so they are given some time to.
pub fn kill_orphans(supervisors: &[i32]) {
    let mut tree = ProcessTree::new();
    let start = Instant::now();
    while start.elapsed() < ORPHAN_GRACE {
        if tree.reap_children_except(supervisors) == 0 {
            return;
        }
        std::thread::sleep(ORPHAN_PAUSE);
    }
    for _ in 0..MAX_ORPHAN_SCANS {
        if tree.kill_children_except(supervisors) == 0 {
            return;
        }
    }
}

/// A buffer for scans of `/proc`.
pub(crate) struct ProcessTree {
    processes: Vec<Process>,
}

impl ProcessTree {
    /// Reserves the buffer; its pages are touched when a scan fills them.
    pub(crate) fn new() -> Self {
        Self { processes: Vec::with_capacity(MAX_PROCESSES) }
    }

    /// Sends `signal` to every descendant of process `root` but this process and `spared`; whether
    /// `/proc` could be read.
    pub(crate) fn signal(&mut self, root: i32, signal: Signal, spared: Option<i32>) -> bool {
        if !self.select_descendants(root) {
            return false;
        }
        let own = own_pid();
        for process in self.selected().filter(|process| process.pid != own && Some(process.pid) != spared) {
            signal_process(process, signal);
        }
        true
    }

    fn kill_children_except(&mut self, supervisors: &[i32]) -> usize {
        self.select_children_except(supervisors);
        self.selected().for_each(|process| signal_process(process, Signal::KILL));
        for process in self.selected() {
            let _ = waitpid(Pid::from_raw(process.pid), WaitOptions::empty());
        }
        self.selected().count()
    }

    /// Reaps the children that have ended; how many there were. The children of those that ended
    /// are this process's now, and only the next scan finds them.
    fn reap_children_except(&mut self, supervisors: &[i32]) -> usize {
        self.select_children_except(supervisors);
        for process in self.selected() {
            let _ = waitpid(Pid::from_raw(process.pid), WaitOptions::NOHANG);
        }
        self.selected().count()
    }

    fn select_children_except(&mut self, supervisors: &[i32]) {
        self.scan();
        let own = own_pid();
        for process in &mut self.processes {
            process.is_selected = process.parent == own && !supervisors.contains(&process.pid);
        }
    }

    fn selected(&self) -> impl Iterator<Item = Process> {
        self.processes.iter().copied().filter(|process| process.is_selected)
    }

    /// Lists all processes with their parents; whether `/proc` could be read.
    fn scan(&mut self) -> bool {
        self.processes.clear();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(proc) = openat(CWD, c"/proc", flags, Mode::empty()) else { return false };
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(proc, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            if let Some(pid) = number(entry.file_name().to_bytes())
                && let Some(process) = process(pid)
                // Within the capacity, pushing does not allocate.
                && self.processes.len() < self.processes.capacity()
            {
                self.processes.push(process);
            }
        }
        // A `/proc` without this process, such as an empty directory, shows nothing of the others
        // either.
        !self.processes.is_empty()
    }

    /// Selects the children of process `root`, then their children, until nothing is new; whether
    /// `/proc` could be read.
    fn select_descendants(&mut self, root: i32) -> bool {
        let is_read = self.scan();
        let mut has_changed = is_read;
        while has_changed {
            has_changed = false;
            for at in 0..self.processes.len() {
                let Some(Process { parent, is_selected: false, .. }) = self.processes.get(at).copied() else {
                    continue;
                };
                if parent == root || self.is_selected(parent) {
                    if let Some(process) = self.processes.get_mut(at) {
                        process.is_selected = true;
                    }
                    has_changed = true;
                }
            }
        }
        is_read
    }

    /// The kernel lists processes by rising pid.
    fn is_selected(&self, pid: i32) -> bool {
        let found = self.processes.binary_search_by_key(&pid, |process| process.pid).ok();
        found.and_then(|at| self.processes.get(at)).is_some_and(|process| process.is_selected)
    }
}

fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

fn signal_process(process: Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The pid may belong to another process by now; only the one that was listed has that parent. A
    // process whose parent has just died is a child of this one and found by the next scan.
    if self::process(process.pid).is_some_and(|now| now.parent == process.parent) {
        let _ = pidfd_send_signal(&pidfd, signal);
    }
}

/// A process, by `/proc/<pid>/stat`.
fn process(pid: i32) -> Option<Process> {
    let stat = ProcStat::read(pid)?;
    // The first of several threads may have ended before the others.
    let has_one_thread = stat.number::<i32>(20)? <= 1;
    let has_ended = stat.field(3)? == b"Z" && has_one_thread;
    Some(Process { pid, parent: stat.number(4)?, has_ended, is_selected: false })
}

/// The decimal number at the start of `text`.
fn number(text: &[u8]) -> Option<i32> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(text.get(..digits)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_its_parent() {
        let parent = rustix::process::getppid().map(Pid::as_raw_pid);
        assert_eq!(process(own_pid()).map(|own| own.parent), parent);
        assert!(process(i32::MAX).is_none(), "no process has the highest number");
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "a test starts a child that it does not reap")]
    fn a_process_that_waits_to_be_reaped_is_no_descendant() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !process(pid).unwrap().has_ended {
            assert!(Instant::now() < until, "`true` ends");
        }
        assert!(!descendants(own_pid()).unwrap().contains(&pid));
        child.wait().unwrap();
    }

    #[test]
    fn numbers_end_where_digits_end() {
        for (text, want) in [
            (&b"17 0"[..], Some(17)),
            (b"", None),
            (b"self", None),
            (b"99999999999", None),
            (b"8\0", Some(8)),
        ] {
            assert_eq!(number(text), want);
        }
    }
}
