//! What is Protected, known by device and inode rather than by name.
//!
//! The desk refuses Protected *paths*; a bind mount, a hard link or a file system that folds case gives the same
//! object another path. So the look-up compares what it opened with these marks. The mark of the
//! deepest known directory on the way counts: an agent's workspace usually lies inside its Protected instance.
//!
//! Invariant: a mark is never lifted by a name; only the agent's own workspace is free inside a sealed tree.

use super::facts::{Facts, Identity};
use super::hard_links::{self, Scan};
use picoclaw_policy::{Access, CleanPath, FileKind, Zones};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxAttributes, StatxFlags, fstat, openat, statx};
use std::os::fd::OwnedFd;

/// What may be done at and below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing.
    Sealed,
    /// Reading and listing.
    Readable,
    /// Whatever the desk allows.
    Free,
}

impl Mark {
    pub(super) fn forbids(self, access: Access) -> bool {
        match self {
            Self::Sealed => true,
            Self::Readable => access == Access::Write,
            Self::Free => false,
        }
    }
}

/// The Protected trees and files of one agent, by identity.
#[derive(Debug, Default)]
pub struct Seals {
    /// A handful: an agent has one workspace and a few trees that are closed to it.
    marks: Vec<(Identity, Mark)>,
    trees: Vec<CleanPath>,
    /// Whether something sealed lies inside the workspace, so that every directory on the way must be seen.
    inside: bool,
}

impl Seals {
    /// Looks up what `zones` protects. What does not exist yet has no identity; the desk still refuses its path.
    pub fn of(zones: &Zones) -> Self {
        // The first mark of an object counts, so the strictest come first.
        let layers = [
            (&zones.protected.trees, Mark::Sealed),
            (&zones.protected.readable, Mark::Readable),
            (&zones.workspace, Mark::Free),
        ];
        let marks = layers
            .into_iter()
            .flat_map(|(paths, mark)| paths.iter().filter_map(move |path| Some((identity(path)?, mark))))
            .collect();
        let inside = zones.protected.trees.iter().any(|tree| zones.in_workspace(tree).is_some());
        Self { marks, trees: zones.protected.trees.clone(), inside }
    }

    /// Whether every directory on the way must be looked at, and not only the last.
    pub(super) fn need_every_step(&self) -> bool {
        self.inside
    }

    /// The mark of an object whose directory has the mark `above`.
    pub(super) fn mark(&self, object: &Facts, above: Mark) -> Mark {
        let id = object.id();
        self.marks.iter().find(|(known, _)| *known == id).map_or(above, |(_, mark)| *mark)
    }

    /// Whether a file is another name of something sealed. Looks only at files that have other names.
    pub(super) fn is_sealed_elsewhere(&self, object: &Facts, access: Access) -> bool {
        object.kind() == FileKind::Regular && object.has_other_names() && self.hold(object, access)
    }

    /// Whether something sealed has been mounted where `object` is; `handle` is on it.
    pub(super) fn is_sealed_mount(&self, object: &Facts, handle: &OwnedFd, access: Access) -> bool {
        !self.trees.is_empty() && is_mounted(handle) && self.hold(object, access)
    }

    /// Whether an object is in a sealed tree, under whatever name.
    fn hold(&self, object: &Facts, access: Access) -> bool {
        let open = |found: &Facts| !self.mark(found, Mark::Sealed).forbids(access);
        match hard_links::look_for(object.id(), &self.trees, &open) {
            Scan::Absent => false,
            // Too many entries to be sure: refusing a link costs a copy, allowing one could cost the keys.
            Scan::Present | Scan::Undecided => true,
        }
    }
}

/// Whether something is mounted here. A kernel before 5.8 cannot say, and then a mount counts as its own.
fn is_mounted(handle: &OwnedFd) -> bool {
    statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn identity(path: &CleanPath) -> Option<Identity> {
    let handle = openat(CWD, path.as_path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    fstat(&handle).ok().map(|stat| Facts::from(stat).id())
}
