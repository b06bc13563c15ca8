//! How full the tmpfs of a cage became, by looking at it now and then.

use crate::launch::linux::tree_memory::{TMPFS_MAGIC, enters_cage};
use picoclaw_sys::linux::descendants;
use rustix::fs::{CWD, Mode, OFlags, fstatfs, openat};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The part of the tmpfs that is left when it counts as full: programs remove their files after an
/// error, so the last look may come before it or after it.
const FREE_PART: u64 = 16;

/// The tmpfs behind `/tmp` of one cage. It can be read when its processes have ended.
#[derive(Debug, Default)]
pub(super) struct TmpUsage {
    dir: OnceLock<OwnedFd>,
    max_used: AtomicU64,
}

impl TmpUsage {
    /// Takes what the supervisor has opened.
    pub(super) fn set(&self, dir: OwnedFd) {
        let is_tmpfs = fstatfs(&dir).is_ok_and(|system| system.f_type == TMPFS_MAGIC);
        let _ = is_tmpfs.then(|| self.dir.set(dir));
    }

    /// Looks for it where the supervisor, outside of bubblewrap's mount namespace, cannot open it:
    /// in the processes that it started. Nothing until the cage is there.
    pub(super) fn find(&self, supervisor: i32) {
        if self.dir.get().is_none() {
            let pids = descendants(supervisor).unwrap_or_default();
            pids.into_iter().filter_map(open_tmp).for_each(|dir| self.set(dir));
        }
    }

    /// Looks at it.
    pub(super) fn look(&self) {
        self.sizes().map(|(used, _)| self.max_used.fetch_max(used, Ordering::Relaxed));
    }

    /// The most bytes that were seen in it, and its size, if these were nearly all.
    pub(super) fn was_full(&self) -> Option<(u64, u64)> {
        self.look();
        let (used, (_, size)) = (self.max_used.load(Ordering::Relaxed), self.sizes()?);
        (used >= size - size / FREE_PART).then_some((used, size))
    }

    fn sizes(&self) -> Option<(u64, u64)> {
        let system = fstatfs(self.dir.get()?).ok()?;
        let block = u64::try_from(system.f_bsize).ok()?;
        Some((system.f_blocks.saturating_sub(system.f_bfree) * block, system.f_blocks * block))
    }
}

fn open_tmp(pid: i32) -> Option<OwnedFd> {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    enters_cage(&root).then(|| openat(CWD, root.join("tmp"), flags, Mode::empty()).ok())?
}
