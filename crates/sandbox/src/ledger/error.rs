//! Errors of the ledger. Every message contains "ledger": a call that is refused because of one
//! must say so.

use crate::printable::printable_path;
use std::io;
use std::path::{Path, PathBuf};

/// Why the ledger could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// An error of the operating system.
    #[error("could not {verb} the ledger: `{}`: {source}", printable_path(path))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A link, a FIFO or a directory is where a file of the ledger belongs.
    #[error("the ledger entry `{}` is not a regular file", printable_path(path))]
    NotAFile {
        /// Where.
        path: PathBuf,
    },
    /// Another process holds the lock for too long.
    #[error("the ledger `{}` has been locked by another process for {seconds} s", printable_path(path))]
    Busy {
        /// The ledger's directory.
        path: PathBuf,
        /// How long the writer waited.
        seconds: u64,
    },
    /// The existing chain cannot be continued.
    #[error("the ledger `{}` cannot be continued: {what}", printable_path(path))]
    Broken {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The ledger is not the one whose head was kept outside it.
    #[error("the ledger `{}` was tampered with: {what}", printable_path(path))]
    Tampered {
        /// The ledger's directory.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The files were removed or replaced while the ledger was open.
    #[error("the ledger `{}` was removed or replaced while it was in use", printable_path(path))]
    Replaced {
        /// The ledger's directory.
        path: PathBuf,
    },
    /// A sync failed.
    #[error("the ledger `{}` could not be synced: {what}", printable_path(path))]
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

    /// What a person can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space on that disk"
            }
            Self::Io { .. } => "the directory must be writable only by the user that runs picoclaw",
            Self::NotAFile { .. } => "remove it; picoclaw creates the file again",
            Self::Busy { .. } => "look for a stopped picoclaw process, and resume or end it",
            Self::Broken { .. } => {
                "see `picoclaw audit verify`; `picoclaw audit accept` sets the directory aside and begins a new ledger"
            }
            Self::Tampered { .. } => {
                "see `picoclaw audit verify`; nothing is permitted until the operator runs `picoclaw audit accept`"
            }
            Self::Replaced { .. } => "start picoclaw again",
            Self::Unsynced { .. } => "check the disk, then start picoclaw again",
        }
    }
}
