//! What every place beneath one root has in common: the root's names, and what the kernel lacks.
//!
//! Invariant: names are for people, rules and link targets; nothing is opened by them.

use picoclaw_policy::CleanPath;
use std::path::{Path, PathBuf};

/// How far a root reaches, which decides what a link may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// A workspace: links that lead out are refused, and so is procfs.
    Workspace,
    /// The whole host: links are followed and reported.
    Host,
}

/// Doors of the kernel that are taken as missing: a fault switch, so that the ways around them are tested too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lacks {
    /// Use whatever is there.
    #[default]
    Nothing,
    /// As on kernels before 5.6, and under seccomp profiles that forbid it.
    Openat2,
    /// As in a chroot or container without /proc.
    Proc,
    /// Both.
    Openat2AndProc,
}

impl Lacks {
    pub(super) fn openat2(self) -> bool {
        matches!(self, Self::Openat2 | Self::Openat2AndProc)
    }

    pub(super) fn proc(self) -> bool {
        matches!(self, Self::Proc | Self::Openat2AndProc)
    }
}

/// The names of a root and how it is used.
#[derive(Debug)]
pub(super) struct Base {
    /// As it was configured.
    pub(super) name: CleanPath,
    /// With every link followed.
    pub(super) resolved: CleanPath,
    pub(super) scope: Scope,
    pub(super) lacks: Lacks,
}

/// Where a link target stands that began outside a workspace's handle.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outside {
    /// On the way to the workspace, by one of its names.
    OnTheWay(PathBuf),
    /// At the workspace itself: the held handle takes over.
    Home,
    /// Anywhere else.
    Elsewhere,
}

impl Base {
    /// One step of a link target outside the handle, as text: it may only walk along the workspace's own names.
    ///
    /// Text is enough, because no step opens anything: the walk either comes back to the held handle or is over.
    pub(super) fn step_outside(&self, mut at: PathBuf, step: &Path) -> Outside {
        if step == Path::new("..") {
            // A name that was not resolved may cross links, and there `..` does not undo a step.
            if !self.resolved.as_path().starts_with(&at) {
                return Outside::Elsewhere;
            }
            at.pop();
        } else if step != Path::new(".") {
            at.push(step);
        }
        self.standing(at)
    }

    /// What the text `at` means to this workspace.
    pub(super) fn standing(&self, at: PathBuf) -> Outside {
        let names = [self.resolved.as_path(), self.name.as_path()];
        if names.contains(&at.as_path()) {
            Outside::Home
        } else if names.iter().any(|name| name.starts_with(&at)) {
            Outside::OnTheWay(at)
        } else {
            Outside::Elsewhere
        }
    }
}
