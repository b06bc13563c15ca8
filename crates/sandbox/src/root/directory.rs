//! An open directory: the right to what is beneath it, and to nothing above.
//!
//! Invariant: the handle is opened once, when the root is made; afterwards its names are only text.

use super::base::{Base, Lacks, Scope};
use super::error::RootError;
use super::facts::Facts;
use super::reopen;
use picoclaw_policy::CleanPath;
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// An open directory: the right to everything beneath it, and to nothing above.
#[derive(Debug)]
pub struct Root {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) facts: Facts,
    pub(super) base: Arc<Base>,
}

impl Root {
    /// Opens a workspace. Its own path may cross links; what is beneath may not leave it by one.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        Self::open_lacking(path, Lacks::Nothing)
    }

    /// As [`Root::open`], on a kernel that lacks something.
    pub fn open_lacking(path: &Path, lacks: Lacks) -> Result<Self, RootError> {
        let name = clean(path)?;
        let resolved = path
            .canonicalize()
            .map_err(|error| match rustix::io::Errno::from_io_error(&error) {
                Some(errno) => RootError::from_errno("resolve", path, errno),
                None => RootError::Io { verb: "resolve", path: path.to_owned(), source: error },
            })
            .and_then(|resolved| clean(&resolved))?;
        Self::at(Base { name, resolved, scope: Scope::Workspace, lacks })
    }

    /// Opens the top of the host's tree, for paths that a rule or a setting opens.
    pub fn host() -> Result<Self, RootError> {
        Self::host_lacking(Lacks::Nothing)
    }

    /// As [`Root::host`], on a kernel that lacks something.
    pub fn host_lacking(lacks: Lacks) -> Result<Self, RootError> {
        let top = clean(Path::new("/"))?;
        Self::at(Base { name: top.clone(), resolved: top, scope: Scope::Host, lacks })
    }

    /// The directory's name as it was configured.
    pub fn name(&self) -> &CleanPath {
        &self.base.name
    }

    /// The directory's name with every link followed, when it was opened.
    pub fn resolved(&self) -> &CleanPath {
        &self.base.resolved
    }

    /// The device that the directory lies on.
    pub fn device(&self) -> u64 {
        self.facts.dev()
    }

    fn at(base: Base) -> Result<Self, RootError> {
        let path = base.resolved.as_path();
        let fault = |errno| RootError::from_errno("open", path, errno);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty()).map_err(fault)?;
        // A readable handle does all that an `O_PATH` one does, and can be synced as well.
        let handle = reopen::directory(handle.as_fd()).unwrap_or(handle);
        let facts = fstat(&handle).map_err(fault)?.into();
        Ok(Self { handle: Arc::new(handle), facts, base: Arc::new(base) })
    }
}

fn clean(path: &Path) -> Result<CleanPath, RootError> {
    CleanPath::absolute(path).ok_or_else(|| RootError::InvalidPath { path: path.to_owned() })
}
