//! Holding a directory that was located, so that a child can start in it.
//!
//! Invariant: the handle is the one that was judged; nobody can put another directory in its place.

use super::error::RootError;
use super::place::{Hold, Place};
use picoclaw_policy::FileKind;
use std::os::fd::OwnedFd;

impl Place {
    /// A handle on the directory, to work in.
    pub fn enter(&self) -> Result<OwnedFd, RootError> {
        let path = || self.asked();
        let io = |source| RootError::Io { verb: "enter", path: path(), source };
        match &self.hold {
            Hold::Open { handle, facts } if facts.kind() == FileKind::Directory => {
                handle.try_clone().map_err(io)
            }
            Hold::Directory { handle } => handle.try_clone().map_err(io),
            Hold::Nothing => Err(RootError::NotFound { path: path() }),
            Hold::Blocked(errno) => Err(self.fault("enter")(*errno)),
            Hold::Closed => Err(self.closed()),
            Hold::Open { .. } | Hold::File { .. } | Hold::Name { .. } => {
                Err(RootError::NotADirectory { path: path() })
            }
        }
    }
}
