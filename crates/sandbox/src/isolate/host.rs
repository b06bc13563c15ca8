//! What is on this host, for a plan that must not look for itself.
//!
//! Invariant: an answer names what was there, with every link resolved.

use rustix::fs::{AtFlags, CWD, FileType};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a path of the host leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it is, with all links resolved.
    pub resolved: PathBuf,
    /// What it is.
    pub kind: Kind,
}

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// Anything else that can be shown.
    File,
}

/// The host's files as far as a plan asks about them.
pub trait HostFiles {
    /// What `path` leads to; `None` when it leads nowhere.
    fn find(&self, path: &Path) -> Option<Found>;
}

/// This machine, as it is now.
#[derive(Debug, Clone, Copy)]
pub struct LiveHost;

impl HostFiles for LiveHost {
    fn find(&self, path: &Path) -> Option<Found> {
        let resolved = std::fs::canonicalize(path).ok()?;
        let stat = rustix::fs::statat(CWD, &resolved, AtFlags::empty()).ok()?;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Some(Found { resolved, kind: if is_directory { Kind::Directory } else { Kind::File } })
    }
}

impl HostFiles for BTreeMap<PathBuf, Found> {
    fn find(&self, path: &Path) -> Option<Found> {
        self.get(path).cloned()
    }
}
