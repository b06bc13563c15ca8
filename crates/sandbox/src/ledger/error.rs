//! Why the ledger could not be kept or read.
//!
//! Invariant: every message says "ledger", because a call that is refused over it must say so.

use std::io;
use std::path::{Path, PathBuf};

/// Why the ledger could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The operating system said no.
    #[error("could not {verb} the ledger: `{path}`: {source}")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else lies where a file of the ledger belongs.
    #[error("the ledger entry `{path}` is not a regular file")]
    NotAFile {
        /// Where.
        path: PathBuf,
    },
    /// Another process holds the lock for too long.
    #[error("the ledger `{path}` has been locked by another process for {seconds} s")]
    Busy {
        /// The ledger's directory.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// What is there cannot be continued.
    #[error("the ledger `{path}` cannot be continued: {what}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The files were taken away under a running process.
    #[error("the ledger `{path}` was removed or replaced while it was in use")]
    Replaced {
        /// The ledger's directory.
        path: PathBuf,
    },
    /// The disk refused what had been written.
    #[error("the ledger `{path}` could not be synced: {what}")]
    Unsynced {
        /// The ledger's directory.
        path: PathBuf,
        /// What the system said.
        what: String,
    },
}

impl LedgerError {
    pub(super) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { verb, path: path.to_owned(), source }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space on that disk"
            }
            Self::Io { .. } => {
                "the directory must be writable by the user that runs picoclaw, and by nobody else"
            }
            Self::NotAFile { .. } => "remove what lies there; picoclaw makes the file anew",
            Self::Busy { .. } => "look for a stopped picoclaw process, and continue or end it",
            Self::Broken { .. } => {
                "see `picoclaw audit verify`; to begin a new ledger, move the whole directory aside"
            }
            Self::Replaced { .. } => "start picoclaw again",
            Self::Unsynced { .. } => "check the disk, then start picoclaw again",
        }
    }
}
