//! Removes temporary files that killed writers left behind.
//!
//! A process scans a directory at its first write there, and again after an hour. A large directory
//! is scanned at most once an hour by all processes together, which a stamp file beside the locks
//! records; a one-shot command therefore seldom pays for listing 100,000 files.
//!
//! Invariant: only files with the name, mode and owner of our temporary files, at least an hour
//! old, are removed.

use super::locks::hash;
use super::metadata::{DevIno, FileMeta};
use super::temp::is_temp_name;
use super::write_context::WriteContext;
use crate::os_file::{
    AsFd, AtFlags, Dir, Errno, Mode, OFlags, OwnedFd, Timespec, Timestamps, UTIME_NOW, fstat, futimens,
    openat, os_str, statat, unlinkat,
};
use picoclaw_policy::FileKind;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The age at which a temporary file is stale, and the pause between two scans.
const HOUR: Duration = Duration::from_secs(3600);

/// The `st_size` of a directory with a few thousand names, which is scanned quickly.
const SMALL_DIR_BYTES: u64 = 256 << 10;

/// How many scanned directories are remembered.
const MAX_REMEMBERED: usize = 1024;

/// How many stamp files there are for large directories.
const STAMP_FILES: u64 = 16;

/// The directories that this process has scanned, and when.
#[derive(Debug, Default)]
pub(super) struct SweptDirs(Mutex<HashMap<DevIno, Instant>>);

impl SweptDirs {
    /// Whether a scan is due; if so, it counts as done.
    fn is_due(&self, dir: DevIno) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(&dir).is_some_and(|at| at.elapsed() < HOUR) {
            return false;
        }
        if seen.len() >= MAX_REMEMBERED {
            seen.clear();
        }
        seen.insert(dir, Instant::now());
        true
    }
}

/// Removes stale temporary files from a directory, if a scan is due.
pub(super) fn remove_stale_temps(dir: &OwnedFd, meta: &FileMeta, context: &WriteContext) {
    if !context.swept.is_due(meta.id())
        || (meta.size() > SMALL_DIR_BYTES && !is_stamp_due(meta.id(), context))
    {
        return;
    }
    // The write itself has succeeded, and the next scan tries again.
    let _ = scan(dir, context);
}

fn scan(dir: &OwnedFd, context: &WriteContext) -> crate::os_file::Result<()> {
    let mut entries = Dir::new(super::reopen::directory(dir.as_fd())?)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = os_str(entry.file_name().to_bytes());
        if is_temp_name(name) && is_stale(&statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?.into(), context) {
            unlinkat(dir, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

fn is_stale(meta: &FileMeta, context: &WriteContext) -> bool {
    meta.kind() == FileKind::Regular
        && meta.mode() == 0o600
        && meta.uid() == context.uid
        && !meta.has_hard_links()
        && is_old(meta.modified())
}

/// Whether a time lies more than an hour in the past.
fn is_old(seconds: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(seconds).is_ok_and(|then| then + HOUR.as_secs() < now.as_secs())
}

/// Whether the last scan of a large directory by any process was an hour ago; if so, this one
/// counts.
fn is_stamp_due(dir: DevIno, context: &WriteContext) -> bool {
    let name = format!("swept-{:x}", hash(&[&dir.bytes()]) % STAMP_FILES);
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    match openat(context.locks.dir(), &name, flags, mode) {
        Ok(stamp) => {
            let due = fstat(&stamp).is_ok_and(|stat| is_old(FileMeta::from(stat).modified()));
            if due {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let _ = futimens(&stamp, &Timestamps { last_access: now, last_modification: now });
            }
            due
        }
        Err(Errno::NOENT) => openat(context.locks.dir(), &name, flags | OFlags::CREATE, mode).is_ok(),
        Err(_) => false,
    }
}
