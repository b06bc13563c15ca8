//! What writers share: locks, the owner of new files, and the directories scanned for stale files.

use super::error::RootError;
use super::locks::Locks;
use super::stale_temps::SweptDirs;
use crate::os_file::owner_of_new_files;
use std::path::Path;
use std::time::Duration;

/// What writers share; one serves any number of threads.
#[derive(Debug)]
pub struct WriteContext {
    pub(super) locks: Locks,
    pub(super) swept: SweptDirs,
    pub(super) pid: u32,
    pub(super) uid: u32,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "new files have their directory's group, or none")
    )]
    pub(super) gid: u32,
}

impl WriteContext {
    /// How long a lock is waited for by default.
    pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

    /// A context with its lock files in `locks`, a directory that no agent can write.
    pub fn new(locks: &Path, timeout: Duration) -> Result<Self, RootError> {
        let opened =
            Locks::open(locks, timeout).map_err(|errno| RootError::from_errno("open", locks, errno))?;
        let (uid, gid) = owner_of_new_files();
        Ok(Self { locks: opened, swept: SweptDirs::default(), pid: std::process::id(), uid, gid })
    }
}
