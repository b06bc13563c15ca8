//! Where a path leads: a handle, the cleaned and the resolved path, the links crossed.
//!
//! Invariant: a place that escaped, is Protected or is no file holds nothing that could be used.

use super::base::{Base, Scope};
use super::error::RootError;
use super::facts::Facts;
use super::walk::Spot;
use picoclaw_policy::{FileKind, Link, PathLocation};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a path leads, and a hold on it.
#[derive(Debug)]
pub struct Place {
    pub(super) base: Arc<Base>,
    /// The path below the root, as it was asked for.
    pub(super) below: PathBuf,
    /// Where the walk went; without one, the path is plain, and leads where it says.
    pub(super) trail: Option<Box<Trail>>,
    pub(super) end: Standing,
    pub(super) kind: FileKind,
    pub(super) hold: Hold,
}

/// How a walk got where it is.
#[derive(Debug)]
pub(super) struct Trail {
    pub(super) resolved: PathBuf,
    pub(super) links: Vec<Link>,
}

/// Where a place stands, seen from its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Beneath,
    Escaped,
    Protected,
}

/// What a place holds. Small, because every look carries it along.
#[derive(Debug)]
pub(super) enum Hold {
    /// A file or directory, open for reading.
    Open { handle: OwnedFd, facts: Facts },
    /// A directory, by an `O_PATH` handle.
    Directory { handle: Arc<OwnedFd> },
    /// A file, by an `O_PATH` handle and its name in a held directory.
    File { handle: OwnedFd, facts: Facts, spot: Box<Spot> },
    /// A name to write to.
    Name(Box<Name>),
    /// Nothing is there.
    Nothing,
    /// The kernel would not go on; the effect says why, after the desk has judged.
    Blocked(Errno),
    /// Not to be had.
    Closed,
}

/// A name to write to, the directories still missing above it, and what is there now.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) spot: Spot,
    pub(super) missing: Vec<OsString>,
    pub(super) there: Option<Facts>,
}

impl Place {
    /// The absolute path as it was asked for.
    pub fn asked(&self) -> PathBuf {
        join(self.base.name.as_path(), &self.below)
    }

    /// The absolute path with every link followed.
    pub fn resolved(&self) -> PathBuf {
        match &self.trail {
            Some(trail) => trail.resolved.clone(),
            None => join(self.base.resolved.as_path(), &self.below),
        }
    }

    /// Every link on the way, in order.
    pub fn links(&self) -> &[Link] {
        self.trail.as_ref().map_or(&[], |trail| &trail.links)
    }

    /// Where it leads, for the desk.
    pub fn landing(&self) -> PathLocation {
        match (self.end, self.base.scope) {
            (Standing::Escaped, _) => PathLocation::Escaped,
            (Standing::Protected, _) => PathLocation::Protected,
            (Standing::Beneath, Scope::Workspace) => PathLocation::Workspace,
            (Standing::Beneath, Scope::Host) => {
                PathLocation::Host { resolved: self.resolved(), links: self.links().to_owned() }
            }
        }
    }

    /// What is there.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Why a closed place gives nothing.
    pub(super) fn closed(&self) -> RootError {
        let path = self.asked();
        match self.end {
            Standing::Escaped => RootError::Escapes { path },
            Standing::Protected => RootError::Protected { path },
            Standing::Beneath => RootError::NotAFile { path },
        }
    }

    /// The fact behind an error number met here.
    pub(super) fn fault(&self, verb: &'static str) -> impl Fn(Errno) -> RootError {
        move |errno| RootError::from_errno(verb, &self.asked(), errno)
    }
}

/// `Path::join` would leave a slash at the end of a root that is asked for itself.
fn join(base: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { base.to_owned() } else { base.join(below) }
}
