//! The mount rules of a plan, and their order.

use crate::isolate::host_files::HostEntryKind;
use picoclaw_policy::config::ExposeMode;
use std::path::{Path, PathBuf};

/// One entry of the child's file tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountRule {
    /// A path of the host.
    Bind {
        /// Its path on the host.
        source: PathBuf,
        /// Its path in the cage.
        target: PathBuf,
        /// Whether the child may change it.
        mode: ExposeMode,
        /// What it is.
        kind: HostEntryKind,
        /// Why it is visible.
        reason: MountReason,
    },
    /// A symbolic link.
    Symlink {
        /// Its path in the cage.
        target: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// An empty writable directory that is discarded with the child.
    Tmpfs {
        /// Its path in the cage.
        target: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A directory of the host that the child may change for itself: what it writes is discarded
    /// with it.
    Overlay {
        /// Its path on the host.
        lower: PathBuf,
        /// Its path in the cage.
        target: PathBuf,
    },
    /// An empty read-only entry in place of something Protected.
    Hide {
        /// Its path in the cage.
        target: PathBuf,
        /// What it hides.
        kind: HostEntryKind,
    },
    /// An inert file over a socket of the host, which is there already.
    MaskSocket {
        /// Its path in the cage.
        target: PathBuf,
    },
}

/// Why a path of the host is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountReason {
    /// The system's programs and libraries.
    System,
    /// The listed files of `/etc`.
    Etc,
    /// The agent's workspace.
    Workspace,
    /// The principal's own environment.
    UserEnvironment,
    /// The shared skills.
    Skills,
    /// `isolation.expose_paths`.
    Configured,
    /// A command of the operator needs it.
    Operator,
    /// A toolchain of this host.
    Toolchain,
    /// `isolation.protect`: a file of the workspace, or a directory above one.
    Protected,
}

impl MountRule {
    /// The path in the cage.
    pub fn target(&self) -> &Path {
        match self {
            Self::Bind { target, .. }
            | Self::Symlink { target, .. }
            | Self::Tmpfs { target, .. }
            | Self::Overlay { target, .. }
            | Self::MaskSocket { target }
            | Self::Hide { target, .. } => target,
        }
    }
}

/// Sorts parents before children. Of two rules for one target the later one wins, except that a
/// hidden target stays hidden.
pub(super) fn ordered(mut rules: Vec<MountRule>) -> Vec<MountRule> {
    let depth = |rule: &MountRule| rule.target().components().count();
    // A stable sort keeps the order of rules for one target.
    rules.sort_by(|a, b| depth(a).cmp(&depth(b)).then_with(|| a.target().cmp(b.target())));
    let mut kept: Vec<MountRule> = Vec::with_capacity(rules.len());
    for rule in rules {
        match kept.last_mut() {
            Some(known) if known.target() == rule.target() => {
                if !matches!(known, MountRule::Hide { .. }) {
                    *known = rule;
                }
            }
            _ => kept.push(rule),
        }
    }
    kept
}
