//! [`Root`]: an open directory, and the right to what lies beneath it.
//!
//! Invariant: the directory is opened once; its names are never opened again.

use super::error::RootError;
use super::metadata::FileMeta;
use super::reopen;
use crate::os_file::{AsFd, CWD, Lookup, Mode, O_PATH, OFlags, OwnedFd, fstat, openat};
use picoclaw_policy::CleanPath;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open directory: the right to everything beneath it, and to nothing above.
#[derive(Debug)]
pub struct Root {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) meta: FileMeta,
    pub(super) base: Arc<Base>,
}

/// The names of a root and how it is used.
#[derive(Debug)]
pub(super) struct Base {
    /// As configured.
    pub(super) name: CleanPath,
    /// With every link resolved.
    pub(super) resolved: CleanPath,
    pub(super) scope: Scope,
    pub(super) disabled: DisabledKernelFeatures,
}

/// How far a root reaches, which decides what a link may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// A workspace: links that lead out are refused, and so is procfs.
    Workspace,
    /// The whole host: links are followed and reported.
    Host,
}

/// Kernel features that are treated as missing, so that tests cover their replacements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DisabledKernelFeatures {
    /// Use whatever is available.
    #[default]
    None,
    /// No openat2(2): kernels before 5.6, or a seccomp profile that forbids it.
    Openat2,
    /// No `/proc`: a chroot or container without it.
    Proc,
    /// Neither.
    Openat2AndProc,
    /// Neither, and no `O_PATH`: macOS.
    PathDescriptors,
}

impl DisabledKernelFeatures {
    pub(super) fn openat2(self) -> bool {
        matches!(self, Self::Openat2 | Self::Openat2AndProc | Self::PathDescriptors)
    }

    pub(super) fn proc(self) -> bool {
        matches!(self, Self::Proc | Self::Openat2AndProc | Self::PathDescriptors)
    }

    pub(super) fn lookup(self) -> Lookup {
        let is_missing = cfg!(target_os = "macos") || self == Self::PathDescriptors;
        if is_missing { Lookup::ByName } else { Lookup::ByDescriptor }
    }
}

impl Root {
    /// Opens a workspace. Its own path may contain links; what lies beneath may not leave it by
    /// one.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        Self::open_without(path, DisabledKernelFeatures::None)
    }

    /// As [`Root::open`], without some kernel features.
    pub fn open_without(path: &Path, disabled: DisabledKernelFeatures) -> Result<Self, RootError> {
        let name = clean(path)?;
        let resolved = path
            .canonicalize()
            .map_err(|error| match crate::os_file::Errno::from_io_error(&error) {
                Some(errno) => RootError::from_errno("resolve", path, errno),
                None => RootError::Io { verb: "resolve", path: path.to_owned(), source: error },
            })
            .and_then(|resolved| clean(&resolved))?;
        Self::at(Base { name, resolved, scope: Scope::Workspace, disabled })
    }

    /// Opens `/`, or the root of a drive, for paths outside the workspace that a rule or a setting
    /// allows.
    pub fn host_at(top: &Path) -> Result<Self, RootError> {
        Self::host_without(top, DisabledKernelFeatures::None)
    }

    /// As [`Root::host_at`], without some kernel features.
    pub fn host_without(top: &Path, disabled: DisabledKernelFeatures) -> Result<Self, RootError> {
        let top = clean(top)?;
        Self::at(Base { name: top.clone(), resolved: top, scope: Scope::Host, disabled })
    }

    /// The directory's name as configured.
    pub fn name(&self) -> &CleanPath {
        &self.base.name
    }

    /// The directory's name with every link resolved, as of when it was opened.
    pub fn resolved(&self) -> &CleanPath {
        &self.base.resolved
    }

    fn at(base: Base) -> Result<Self, RootError> {
        let path = base.resolved.as_path();
        let fault = |errno| RootError::from_errno("open", path, errno);
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty()).map_err(fault)?;
        // A readable descriptor can be synced, which an `O_PATH` one cannot.
        let handle = reopen::directory(handle.as_fd()).unwrap_or(handle);
        let meta = fstat(&handle).map_err(fault)?.into();
        Ok(Self { handle: Arc::new(handle), meta, base: Arc::new(base) })
    }
}

/// Where the target of a link stands after it has left a workspace's descriptor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkPosition {
    /// Above the workspace, along one of its names.
    OnTheWay(PathBuf),
    /// At the workspace itself: the walk continues from its descriptor.
    Root,
    /// Anywhere else.
    Outside,
}

impl Base {
    /// Takes one step of a link target outside the descriptor. The step is textual: it opens
    /// nothing, and either leads back to the workspace's descriptor or ends the walk.
    pub(super) fn step_outside(&self, mut at: PathBuf, step: &Path) -> LinkPosition {
        if step == Path::new("..") {
            // An unresolved name may contain links, and then `..` does not undo a step.
            if !self.resolved.as_path().starts_with(&at) {
                return LinkPosition::Outside;
            }
            at.pop();
        } else if step != Path::new(".") {
            at.push(step);
        }
        self.position(at)
    }

    /// Where the text `at` stands relative to this workspace.
    pub(super) fn position(&self, at: PathBuf) -> LinkPosition {
        let names = [self.resolved.as_path(), self.name.as_path()];
        if names.contains(&at.as_path()) {
            LinkPosition::Root
        } else if names.iter().any(|name| name.starts_with(&at)) {
            LinkPosition::OnTheWay(at)
        } else {
            LinkPosition::Outside
        }
    }
}

fn clean(path: &Path) -> Result<CleanPath, RootError> {
    CleanPath::absolute(path).ok_or_else(|| RootError::InvalidPath { path: path.to_owned() })
}
