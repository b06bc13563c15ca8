//! Protected files and directories, by device and inode.
//!
//! The policy check refuses Protected paths. A bind mount, a hard link or a case-folding file
//! system gives the same object another path, so lookups compare what they opened with these
//! inodes. The innermost known directory on the way decides: an agent's workspace usually lies
//! inside its Protected instance.
//!
//! Invariant: inside a Protected tree only the agent's own workspace is open.

use super::hard_links::{self, Scan};
use super::metadata::{DevIno, FileMeta};
use crate::os_file::{AsFd, OwnedFd, is_mount_root, stat_path};
use picoclaw_policy::{Access, CleanPath, FileKind, Zones};

/// What may be done at and below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// Nothing.
    Closed,
    /// Reading and listing.
    ReadOnly,
    /// Whatever the policy allows.
    Open,
}

impl Protection {
    pub(super) fn forbids(self, access: Access) -> bool {
        match self {
            Self::Closed => true,
            Self::ReadOnly => access == Access::Write,
            Self::Open => false,
        }
    }
}

/// The Protected trees and files of one agent.
#[derive(Debug, Default)]
pub struct ProtectedInodes {
    inodes: Vec<(DevIno, Protection)>,
    trees: Vec<CleanPath>,
    /// Whether a Protected tree lies inside the workspace, so that every directory on the way
    /// counts.
    inside_workspace: bool,
}

impl ProtectedInodes {
    /// Looks up what `zones` protects. What does not exist yet has no inode; the policy check still
    /// refuses its path.
    pub fn of(zones: &Zones) -> Self {
        // The first entry of an inode counts, so the strictest come first.
        let layers = [
            (&zones.protected.trees, Protection::Closed),
            (&zones.protected.readable, Protection::ReadOnly),
            (&zones.workspace, Protection::Open),
        ];
        let inodes = layers
            .into_iter()
            .flat_map(|(paths, level)| paths.iter().filter_map(move |path| Some((inode_of(path)?, level))))
            .collect();
        let inside_workspace = zones.protected.trees.iter().any(|tree| zones.in_workspace(tree).is_some());
        Self { inodes, trees: zones.protected.trees.clone(), inside_workspace }
    }

    /// Whether every directory on the way must be checked, and not only the last.
    pub(super) fn needs_every_step(&self) -> bool {
        self.inside_workspace
    }

    /// The protection of an object in a directory with the protection `inherited`.
    pub(super) fn protection_of(&self, object: &FileMeta, inherited: Protection) -> Protection {
        let id = object.id();
        self.inodes.iter().find(|(known, _)| *known == id).map_or(inherited, |(_, level)| *level)
    }

    /// Whether a file is a hard link to something Protected. Only files with several links are
    /// searched for.
    pub(super) fn is_protected_hard_link(&self, object: &FileMeta, access: Access) -> bool {
        object.kind() == FileKind::Regular && object.has_hard_links() && self.contains(object, access)
    }

    /// Whether `object`, open as `handle`, is a mount of something Protected.
    pub(super) fn is_protected_mount(&self, object: &FileMeta, handle: &OwnedFd, access: Access) -> bool {
        !self.trees.is_empty() && is_mount_root(handle.as_fd()) && self.contains(object, access)
    }

    /// Whether an object lies in a Protected tree, under any name.
    fn contains(&self, object: &FileMeta, access: Access) -> bool {
        let is_open = |found: &FileMeta| !self.protection_of(found, Protection::Closed).forbids(access);
        match hard_links::find_inode(object.id(), &self.trees, &is_open) {
            Scan::Absent => false,
            // After too many entries the answer is unknown. A wrong refusal costs a copy of the
            // file, a wrong permission could reveal keys.
            Scan::Present | Scan::Undecided => true,
        }
    }
}

fn inode_of(path: &CleanPath) -> Option<DevIno> {
    stat_path(path.as_path()).ok().map(|stat| FileMeta::from(stat).id())
}
