//! Why a file could not be had.
//!
//! Invariant: variants are facts that a caller can match on; the kernel's own words stay in `source`.

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file beneath a [`Root`](super::Root) could not be had.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// Not a path that can be looked up: a NUL, a dot, an absolute or an empty component.
    #[error("`{}` is not a clean relative path", path.display())]
    InvalidPath {
        /// The path as it was given.
        path: PathBuf,
    },
    /// Worth an alarm, never a retry.
    #[error("`{}` leads outside the workspace", path.display())]
    Escapes {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// What is there is Protected.
    #[error("`{}` is protected", path.display())]
    Protected {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// Nothing is there.
    #[error("`{}` was not found", path.display())]
    NotFound {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The kernel does not let this user.
    #[error("access to `{}` is denied", path.display())]
    AccessDenied {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A file was meant.
    #[error("`{}` is a directory", path.display())]
    IsADirectory {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A directory was meant, at the end of the path or on the way.
    #[error("`{}` is not a directory, or something on the way to it is not", path.display())]
    NotADirectory {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A FIFO, socket, device or procfs entry.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// Something is there, and was not to be replaced.
    #[error("`{}` already exists", path.display())]
    Exists {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// Beyond what this effect takes on.
    #[error("`{}` is too large: {size}, the limit is {limit}", path.display())]
    TooLarge {
        /// The path that was asked for.
        path: PathBuf,
        /// Its size: bytes of a file, entries of a directory.
        size: u64,
        /// The most that is taken on.
        limit: u64,
    },
    /// More links, or more directories, than are followed.
    #[error("`{}` crosses too many links or directories", path.display())]
    TooDeep {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A name that the file system does not take.
    #[error("`{}` has a name that is too long", path.display())]
    NameTooLong {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// Something else was put there after it had been located.
    #[error("`{}` changed while it was looked at", path.display())]
    Changed {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// Someone else holds it.
    #[error("`{}` is in use", path.display())]
    InUse {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// Its lock was not free in time.
    #[error("`{}` is locked by another write; waited {waited:?}", path.display())]
    Busy {
        /// The path that was asked for.
        path: PathBuf,
        /// How long.
        waited: Duration,
    },
    /// No space, or no quota, is left.
    #[error("no space is left for `{}`", path.display())]
    Full {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error("`{}` is on a read-only file system", path.display())]
    ReadOnly {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// It was located to be read, and is written, or the other way round.
    #[error("`{}` was located for another use", path.display())]
    OtherUse {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// There is no text to look for.
    #[error("the text to replace is empty")]
    EmptyText,
    /// The text to replace is not in the file.
    #[error("the text to replace is not in `{}`", path.display())]
    NoMatch {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The text to replace is in the file more than once.
    #[error("the text to replace is in `{}` {count} times", path.display())]
    ManyMatches {
        /// The path that was asked for.
        path: PathBuf,
        /// How often, without overlaps.
        count: usize,
    },
    /// Whatever else the kernel said.
    #[error("could not {verb} `{}`", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The path that was asked for.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl RootError {
    /// The fact behind an error number.
    pub(crate) fn from_errno(verb: &'static str, path: &Path, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::ACCESS | Errno::PERM => Self::AccessDenied { path },
            Errno::ISDIR => Self::IsADirectory { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::EXIST => Self::Exists { path },
            Errno::LOOP => Self::TooDeep { path },
            Errno::NAMETOOLONG => Self::NameTooLong { path },
            Errno::AGAIN | Errno::BUSY | Errno::TXTBSY => Self::InUse { path },
            Errno::NOSPC | Errno::DQUOT => Self::Full { path },
            Errno::ROFS => Self::ReadOnly { path },
            Errno::NXIO | Errno::NODEV => Self::NotAFile { path },
            Errno::STALE => Self::Changed { path },
            other => Self::Io { verb, path, source: other.into() },
        }
    }

    /// What would help, when something would.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("split it, or work on it with a command"),
            Self::Changed { .. } | Self::InUse { .. } | Self::Busy { .. } => Some("try again"),
            Self::Full { .. } => Some("free some space; the old contents are untouched"),
            Self::Exists { .. } => Some("`overwrite: true` replaces it"),
            _ => None,
        }
    }
}
