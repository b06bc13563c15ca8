//! Errors of the state directory.

use crate::os_file::Errno;
use crate::printable::printable_path;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Not a name of a file.
    #[error("`{}` is not a valid file name", name.escape_debug())]
    BadName {
        /// The name.
        name: String,
    },
    /// Another process has locked it.
    #[error("`{}` is in use by another process; waited {waited:?}", printable_path(path))]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long.
        waited: Duration,
    },
    /// A link, a FIFO or a directory is where a file belongs.
    #[error("`{}` is not a regular file", printable_path(path))]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// Larger than a reader takes.
    #[error("`{}` is larger than {limit} bytes", printable_path(path))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// No space, or no quota, is left; what was there before is untouched.
    #[error("no space is left for `{}`", printable_path(path))]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Any other error of the kernel.
    #[error("could not {verb} `{}`: {source}", printable_path(path))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl StateError {
    /// The variant for an error of the operating system.
    pub(crate) fn of<E: Into<io::Error>>(verb: &'static str, path: &Path) -> impl Fn(E) -> Self {
        move |error| {
            let (path, source) = (path.to_owned(), error.into());
            match Errno::from_io_error(&source) {
                Some(Errno::NOSPC | Errno::DQUOT) => Self::Full { path },
                Some(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => Self::NotAFile { path },
                _ => Self::Io { verb, path, source },
            }
        }
    }

    /// What would help, when something would.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Full { .. } => Some("free some space; what was there before is untouched"),
            Self::Busy { .. } => Some("wait for the other one to finish, or end it"),
            _ => None,
        }
    }
}
