//! [`Place`]: where a path leads, and a descriptor for it.
//!
//! Invariant: a place that escaped, is Protected or is not a file holds nothing that could be used.

use super::error::RootError;
use super::metadata::FileMeta;
use super::root_dir::{Base, Scope};
use super::walk_resolver::DirEntryRef;
use crate::os_file::{Errno, OwnedFd};
use picoclaw_policy::{FileKind, Link, PathLocation};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a path leads.
#[derive(Debug)]
pub struct Place {
    pub(super) base: Arc<Base>,
    /// The path below the root, as it was asked for.
    pub(super) below: PathBuf,
    /// How the walk got there; `None` for a path without links.
    pub(super) trace: Option<Box<WalkTrace>>,
    pub(super) state: PlaceState,
    pub(super) kind: FileKind,
    pub(super) handle: PlaceHandle,
}

/// How a walk got where it is.
#[derive(Debug)]
pub(super) struct WalkTrace {
    pub(super) resolved: PathBuf,
    pub(super) links: Vec<Link>,
}

/// Where a place lies relative to its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceState {
    Beneath,
    Escaped,
    Protected,
}

/// What a place holds.
#[derive(Debug)]
pub(super) enum PlaceHandle {
    /// A file or directory, open for reading.
    Open { handle: OwnedFd, meta: FileMeta },
    /// A directory, by an `O_PATH` descriptor.
    Directory { handle: Arc<OwnedFd> },
    /// A file, by an `O_PATH` descriptor and its directory entry.
    File { handle: OwnedFd, meta: FileMeta, entry: Box<DirEntryRef> },
    /// A name to write to.
    Target(Box<WriteTarget>),
    /// Nothing exists there.
    Missing,
    /// The kernel refused a step. The effect reports why, after the policy check.
    Blocked(Errno),
    /// Not to be used.
    Closed,
}

/// A name to write to.
#[derive(Debug)]
pub(super) struct WriteTarget {
    pub(super) entry: DirEntryRef,
    /// The directories above it that do not exist yet.
    pub(super) missing: Vec<OsString>,
    /// What has the name now.
    pub(super) existing: Option<FileMeta>,
}

impl Place {
    /// The absolute path as it was asked for.
    pub fn asked(&self) -> PathBuf {
        join(self.base.name.as_path(), &self.below)
    }

    /// The absolute path with every link resolved.
    pub fn resolved(&self) -> PathBuf {
        match &self.trace {
            Some(trace) => trace.resolved.clone(),
            None => join(self.base.resolved.as_path(), &self.below),
        }
    }

    /// Every link that was followed, in order.
    pub fn links(&self) -> &[Link] {
        self.trace.as_ref().map_or(&[], |trace| &trace.links)
    }

    /// Where it leads, for the policy check.
    pub fn landing(&self) -> PathLocation {
        match (self.state, self.base.scope) {
            (PlaceState::Escaped, _) => PathLocation::Escaped,
            (PlaceState::Protected, _) => PathLocation::Protected,
            (PlaceState::Beneath, Scope::Workspace) => PathLocation::Workspace,
            (PlaceState::Beneath, Scope::Host) => {
                PathLocation::Host { resolved: self.resolved(), links: self.links().to_owned() }
            }
        }
    }

    /// Device and inode of what is there; `None` when nothing is, or it cannot be used.
    pub fn identity(&self) -> Option<(u64, u64)> {
        let id = |meta: &FileMeta| (meta.dev(), meta.ino());
        match &self.handle {
            PlaceHandle::Open { meta, .. } | PlaceHandle::File { meta, .. } => Some(id(meta)),
            PlaceHandle::Directory { handle } => {
                crate::os_file::fstat(handle).ok().map(|stat| id(&FileMeta::from(stat)))
            }
            PlaceHandle::Target(target) => target.existing.as_ref().map(id),
            PlaceHandle::Missing | PlaceHandle::Blocked(_) | PlaceHandle::Closed => None,
        }
    }

    /// What is there.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// A descriptor for the directory, so that a child can start in the one that was checked.
    pub fn enter(&self) -> Result<OwnedFd, RootError> {
        let path = || self.asked();
        let io = |source| RootError::Io { verb: "enter", path: path(), source };
        match &self.handle {
            PlaceHandle::Open { handle, meta } if meta.kind() == FileKind::Directory => {
                handle.try_clone().map_err(io)
            }
            PlaceHandle::Directory { handle } => handle.try_clone().map_err(io),
            PlaceHandle::Missing => Err(RootError::NotFound { path: path() }),
            PlaceHandle::Blocked(errno) => Err(self.fault("enter")(*errno)),
            PlaceHandle::Closed => Err(self.closed()),
            PlaceHandle::Open { .. } | PlaceHandle::File { .. } | PlaceHandle::Target(_) => {
                Err(RootError::NotADirectory { path: path() })
            }
        }
    }

    /// Why a closed place cannot be used.
    pub(super) fn closed(&self) -> RootError {
        let path = self.asked();
        match self.state {
            PlaceState::Escaped => RootError::Escapes { path },
            PlaceState::Protected => RootError::Protected { path },
            PlaceState::Beneath => RootError::NotAFile { path },
        }
    }

    /// Turns an error number into an error about this place.
    pub(super) fn fault(&self, verb: &'static str) -> impl Fn(Errno) -> RootError {
        move |errno| RootError::from_errno(verb, &self.asked(), errno)
    }
}

/// `Path::join` would add a slash for an empty second path.
fn join(base: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { base.to_owned() } else { base.join(below) }
}
