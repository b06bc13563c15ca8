//! Errors of file access.

use crate::os_file::Errno;
use crate::printable::printable_path;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file beneath a [`Root`](super::Root) could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// A path with a NUL, a dot, an absolute or an empty component.
    #[error("`{}` is not a clean relative path", printable_path(path))]
    InvalidPath {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A link leads out of the workspace.
    #[error("`{}` leads outside the workspace", printable_path(path))]
    Escapes {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// It is Protected.
    #[error("`{}` is protected", printable_path(path))]
    Protected {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// It does not exist.
    #[error("`{}` was not found", printable_path(path))]
    NotFound {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// This user has no permission.
    #[error("access to `{}` is denied", printable_path(path))]
    AccessDenied {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A file was expected.
    #[error("`{}` is a directory", printable_path(path))]
    IsADirectory {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A directory was expected, at the end of the path or on the way.
    #[error("`{}` is not a directory, or something on the way to it is not", printable_path(path))]
    NotADirectory {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A FIFO, socket, device or procfs entry.
    #[error("`{}` is not a regular file", printable_path(path))]
    NotAFile {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// It exists and was not to be replaced.
    #[error("`{}` already exists", printable_path(path))]
    Exists {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// It is larger than the effect allows.
    #[error("`{}` is too large: {size}, the limit is {limit}", printable_path(path))]
    TooLarge {
        /// The path that was asked for.
        path: PathBuf,
        /// Its size: bytes of a file, entries of a directory.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Too many links or directories.
    #[error("`{}` crosses too many links or directories", printable_path(path))]
    TooDeep {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A name that is too long for the file system.
    #[error("`{}` has a name that is too long", printable_path(path))]
    NameTooLong {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// It was replaced after it had been located.
    #[error("`{}` changed while it was looked at", printable_path(path))]
    Changed {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The kernel reports it as busy.
    #[error("`{}` is in use", printable_path(path))]
    InUse {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// Its lock was not released in time.
    #[error("`{}` is locked by another write; waited {waited:?}", printable_path(path))]
    Busy {
        /// The path that was asked for.
        path: PathBuf,
        /// How long.
        waited: Duration,
    },
    /// No space, or no quota, is left.
    #[error("no space is left for `{}`", printable_path(path))]
    Full {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error("`{}` is on a read-only file system", printable_path(path))]
    ReadOnly {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// It was located for reading and is written, or the other way round.
    #[error("`{}` was located for another use", printable_path(path))]
    OtherUse {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The text to replace is empty.
    #[error("the text to replace is empty")]
    EmptyText,
    /// The text to replace is not in the file.
    #[error("the text to replace is not in `{}`", printable_path(path))]
    NoMatch {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The text to replace is in the file more than once.
    #[error("the text to replace is in `{}` {count} times", printable_path(path))]
    ManyMatches {
        /// The path that was asked for.
        path: PathBuf,
        /// How often, without overlaps.
        count: usize,
    },
    /// Any other error of the kernel.
    #[error("could not {verb} `{}`", printable_path(path))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The path that was asked for.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl RootError {
    /// The error for an error number.
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

    /// The remedy, if there is one.
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
