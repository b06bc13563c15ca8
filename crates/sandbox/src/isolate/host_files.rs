//! Path lookups on the host, behind a trait so that plans can be made for a host that is only data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a path of the host leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// Its path with all links resolved.
    pub resolved: PathBuf,
    /// What it is.
    pub kind: HostEntryKind,
}

/// Whether an entry is mounted on a directory or on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEntryKind {
    /// A directory.
    Directory,
    /// Anything else.
    File,
}

/// The host's files as a plan sees them.
pub trait HostFiles {
    /// What `path` leads to; `None` when it does not resolve.
    fn find(&self, path: &Path) -> Option<HostEntry>;
}

/// The files of this machine, looked up at each call.
#[derive(Debug, Clone, Copy)]
pub struct LiveHost;

impl HostFiles for LiveHost {
    fn find(&self, path: &Path) -> Option<HostEntry> {
        let resolved = std::fs::canonicalize(path).ok()?;
        let is_directory = resolved.metadata().ok()?.is_dir();
        let kind = if is_directory { HostEntryKind::Directory } else { HostEntryKind::File };
        Some(HostEntry { resolved, kind })
    }
}

impl HostFiles for BTreeMap<PathBuf, HostEntry> {
    fn find(&self, path: &Path) -> Option<HostEntry> {
        self.get(path).cloned()
    }
}
