//! Where a path leads: a handle, the cleaned and the resolved path, the links crossed.
//!
//! Invariant: a place that escaped, is Protected or is no file holds nothing that could be used.

use super::base::Base;
use super::error::RootError;
use super::facts::Facts;
use super::walk::Spot;
use picoclaw_policy::{FileKind, Landing, Link};
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
    /// The resolved path; without one, nothing on the way was a link.
    pub(super) resolved: Option<PathBuf>,
    pub(super) links: Vec<Link>,
    pub(super) landing: Landing,
    pub(super) kind: FileKind,
    pub(super) hold: Hold,
}

/// What a place holds.
#[derive(Debug)]
pub(super) enum Hold {
    /// A file or directory, open for reading.
    Open { handle: OwnedFd, facts: Facts },
    /// A directory, by an `O_PATH` handle.
    Directory { handle: Arc<OwnedFd> },
    /// A file, by an `O_PATH` handle and its name in a held directory.
    File { handle: OwnedFd, facts: Facts, spot: Spot },
    /// A name to write to, the directories still missing above it, and what is there now.
    Name { spot: Spot, missing: Vec<OsString>, there: Option<Facts> },
    /// Nothing is there.
    Nothing,
    /// The kernel would not go on; the effect says why, after the desk has judged.
    Blocked(Errno),
    /// Not to be had.
    Closed,
}

impl Place {
    /// The absolute path as it was asked for.
    pub fn asked(&self) -> PathBuf {
        join(self.base.name.as_path(), &self.below)
    }

    /// The absolute path with every link followed.
    pub fn resolved(&self) -> PathBuf {
        self.resolved.clone().unwrap_or_else(|| join(self.base.resolved.as_path(), &self.below))
    }

    /// Every link on the way, in order.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Where it leads, for the desk.
    pub fn landing(&self) -> &Landing {
        &self.landing
    }

    /// What is there.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Why a closed place gives nothing.
    pub(super) fn closed(&self) -> RootError {
        let path = self.asked();
        match self.landing {
            Landing::Escaped | Landing::Unseen => RootError::Escapes { path },
            Landing::Protected => RootError::Protected { path },
            Landing::Workspace | Landing::Host { .. } => RootError::NotAFile { path },
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
