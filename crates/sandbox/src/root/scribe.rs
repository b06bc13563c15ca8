//! What writing needs beside a place: locks, whose files they become, and what was swept already.
//!
//! Invariant: one scribe serves any number of threads.

use super::error::RootError;
use super::locks::Locks;
use super::sweep::Swept;
use rustix::process::{getegid, geteuid};
use std::path::Path;
use std::time::Duration;

/// Whoever writes: the locks it takes and the account that its files belong to.
#[derive(Debug)]
pub struct Scribe {
    pub(super) locks: Locks,
    pub(super) swept: Swept,
    pub(super) pid: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Scribe {
    /// How long a lock is waited for when nobody says otherwise.
    pub const WAIT: Duration = Duration::from_secs(10);

    /// A scribe that keeps its locks in `locks`, a directory that no agent can write in.
    pub fn new(locks: &Path, wait: Duration) -> Result<Self, RootError> {
        let opened = Locks::open(locks, wait).map_err(|errno| RootError::from_errno("open", locks, errno))?;
        Ok(Self {
            locks: opened,
            swept: Swept::default(),
            pid: std::process::id(),
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
        })
    }
}
