//! Notices the lock files that git makes beside a file before it replaces it.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A watch for lock files.
#[derive(Debug)]
pub(super) struct LockWatch {
    queue: OwnedFd,
    /// The number of the directory's watch, the name of the lock, and the file that it is for.
    locks: Vec<(i32, String, String)>,
}

impl LockWatch {
    /// Watches for locks of these files. `None` where there is none, or the kernel has no room.
    pub(super) fn new(files: Vec<(PathBuf, String)>) -> Option<Self> {
        if files.is_empty() {
            return None;
        }
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let mut locks = Vec::new();
        for (path, shown) in files {
            let Some((directory, name)) = path.parent().zip(path.file_name()) else { continue };
            let flags = WatchFlags::CREATE | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
            let number = inotify::add_watch(&queue, directory, flags).ok()?;
            locks.push((number, format!("{}.lock", name.to_string_lossy()), shown));
        }
        Some(Self { queue, locks })
    }

    /// The files that were to be replaced.
    pub(super) fn refused(self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.queue, &mut buffer);
        let mut refused = Vec::new();
        while let Ok(event) = events.next() {
            let name = event.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let lock = self.locks.iter().find(|(number, lock, _)| *number == event.wd() && *lock == name);
            refused.extend(lock.map(|(_, _, shown)| shown.clone()).filter(|shown| !refused.contains(shown)));
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                break;
            }
        }
        refused
    }
}
