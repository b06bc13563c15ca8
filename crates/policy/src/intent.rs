//! What is asked, as facts: the one typed effect that a call comes down to.
//!
//! Invariant: an intent describes; it holds no handle and can do nothing.

use crate::path::CleanPath;
use std::fmt;
use std::path::PathBuf;

/// One effect, with everything that was found out about it before it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// Read a file's contents.
    Read(Target),
    /// List a directory.
    List(Target),
    /// Create or replace a file.
    Write(Target),
}

impl Intent {
    /// What kind of use a file intent makes of its target.
    pub fn access(&self) -> Access {
        match self {
            Self::Read(_) => Access::Read,
            Self::List(_) => Access::List,
            Self::Write(_) => Access::Write,
        }
    }

    /// The file that is meant.
    pub fn target(&self) -> &Target {
        match self {
            Self::Read(target) | Self::List(target) | Self::Write(target) => target,
        }
    }
}

/// What is asked, in words: the ledger's spelling.
impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.access().as_str(), self.target().asked)
    }
}

/// The use that is made of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its contents are read.
    Read,
    /// Its entries are named.
    List,
    /// It is made or changed.
    Write,
}

impl Access {
    /// The spelling in the ledger and in hints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
        }
    }
}

/// A file as it was asked for, and where that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The path, absolute and clean.
    pub asked: CleanPath,
    /// Where it leads.
    pub landing: Landing,
    /// What is there.
    pub kind: FileKind,
}

/// Where a path leads, as the look-up found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// Nobody looked: the text alone is refused.
    Unseen,
    /// Beneath the workspace's own handle.
    Workspace,
    /// Beneath the workspace as text, but a link leads out of it.
    Escaped,
    /// Elsewhere on the host.
    Host {
        /// The path with every link followed.
        resolved: PathBuf,
        /// Every link that was followed, in order.
        links: Vec<Link>,
    },
    /// Something Protected: by its path, by a directory above it, or by device and inode (a hard link).
    Protected,
}

/// A symbolic link on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where the link itself is.
    pub at: PathBuf,
    /// Who could have put it there.
    pub owner: LinkOwner,
}

/// Who could have made or changed a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOwner {
    /// It lies where no agent can write: the system's own.
    System,
    /// It lies where an agent could have put it.
    Anyone,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Nothing is there yet.
    Missing,
    /// An ordinary file.
    Regular,
    /// A directory.
    Directory,
    /// A FIFO, socket, device, or anything of procfs reached through a workspace.
    Special,
}
