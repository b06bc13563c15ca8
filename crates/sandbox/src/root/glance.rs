//! A glance: what is at the end of a path that leads straight there, in one question to the kernel.
//!
//! For whoever only wants to know, and has nothing to open. Links need explaining, and procfs is full of what looks
//! like files, so neither gets an answer here; [`Root::locate`] gives it.
//!
//! Invariant: an answer is the one that the walking resolver would give, without a link on the way.

use super::directory::Root;
use super::facts::Facts;
use super::locate::is_clean;
use super::openat2::glance_at;
use picoclaw_policy::FileKind;
use rustix::fs::fstat;
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::Path;

impl Root {
    /// What is at `path`, which is clean and relative to this root; `None` where that needs a closer look.
    pub fn glance(&self, path: &Path) -> Option<FileKind> {
        if self.base.lacks.openat2() || path.as_os_str().is_empty() || !is_clean(path) {
            return None;
        }
        if self.resolved().as_path().join(path).starts_with("/proc") {
            return None;
        }
        match glance_at(self.handle.as_fd(), path) {
            // Links are errors of their own, so everything up to the name that is missing is what it seems.
            Err(Errno::NOENT) => Some(FileKind::Missing),
            Err(_) => None,
            Ok(handle) => fstat(&handle).ok().map(|stat| Facts::from(stat).kind()),
        }
    }
}
