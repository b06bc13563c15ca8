//! Removes what killed writers left behind, without looking through a large directory at every write.
//!
//! A process looks through a directory at its first write there, and again an hour later. Where the directory is
//! large, that first look also waits until an hour has passed since any process took one; a stamp beside the locks
//! remembers. So a one-shot command in a directory of 100,000 files pays for a listing once an hour at most.
//!
//! Invariant: only files with our name, our mode, our owner and an hour of age are removed.

use super::facts::{Facts, Identity};
use super::locks::hash;
use super::scribe::Scribe;
use super::temp::is_temporary;
use picoclaw_policy::FileKind;
use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, fstat, futimens, openat, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The age at which a temporary file has no writer any more, and the pause between two looks.
const HOUR: Duration = Duration::from_secs(3600);

/// The size, as `stat` gives it, up to which a directory is quickly looked through: some thousands of names.
const SMALL: u64 = 256 << 10;

/// Directories that are remembered.
const REMEMBERED: usize = 1024;

/// How many stamps there are for large directories.
const STAMPS: u64 = 16;

/// Which directories this process has looked through, and when.
#[derive(Debug, Default)]
pub(super) struct Swept(Mutex<HashMap<Identity, Instant>>);

impl Swept {
    /// Whether it is time to look through a directory; if so, it counts as done.
    fn is_due(&self, dir: Identity) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(&dir).is_some_and(|at| at.elapsed() < HOUR) {
            return false;
        }
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(dir, Instant::now());
        true
    }
}

/// Removes left-over temporary files of ours from a directory, when it is time to.
pub(super) fn sweep(dir: &OwnedFd, facts: &Facts, scribe: &Scribe) {
    if !scribe.swept.is_due(facts.id()) || (facts.size() > SMALL && !is_stamp_due(facts.id(), scribe)) {
        return;
    }
    // A sweep that fails has failed nobody: the write is done, and the next sweep tries again.
    let _ = remove_left_over(dir, scribe);
}

fn remove_left_over(dir: &OwnedFd, scribe: &Scribe) -> rustix::io::Result<()> {
    let mut entries = Dir::new(super::reopen::directory(rustix::fd::AsFd::as_fd(dir))?)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_temporary(name) && is_left_over(&statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?.into(), scribe) {
            unlinkat(dir, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

fn is_left_over(facts: &Facts, scribe: &Scribe) -> bool {
    facts.kind() == FileKind::Regular
        && facts.mode() == 0o600
        && facts.uid() == scribe.uid
        && !facts.has_other_names()
        && is_past(facts.modified())
}

/// Whether a time lies more than an hour back.
fn is_past(seconds: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(seconds).is_ok_and(|then| then + HOUR.as_secs() < now.as_secs())
}

/// Whether nobody has looked through a large directory for an hour; if so, somebody has now.
fn is_stamp_due(dir: Identity, scribe: &Scribe) -> bool {
    let name = format!("swept-{:x}", hash(&[&dir.bytes()]) % STAMPS);
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    match openat(scribe.locks.dir(), &name, flags, mode) {
        Ok(stamp) => {
            let due = fstat(&stamp).is_ok_and(|stat| is_past(Facts::from(stat).modified()));
            if due {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let _ = futimens(&stamp, &Timestamps { last_access: now, last_modification: now });
            }
            due
        }
        Err(Errno::NOENT) => openat(scribe.locks.dir(), &name, flags | OFlags::CREATE, mode).is_ok(),
        Err(_) => false,
    }
}
