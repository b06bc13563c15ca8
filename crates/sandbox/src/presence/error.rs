//! Why a gateway cannot take its place.
//!
//! Invariant: the documented sentence of a second start is said to the letter.

use super::record::Recorded;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no presence.
#[derive(Debug, thiserror::Error)]
pub enum PresenceError {
    /// Another one holds the lock.
    #[error("gateway is already running ({})", told(.0.as_deref()))]
    AlreadyRunning(Option<Box<Recorded>>),
    /// A link, a FIFO or a directory is where the lock belongs.
    #[error("`{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// Whatever else the kernel said.
    #[error("could not {verb} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl PresenceError {
    pub(super) fn of(verb: &'static str, path: &Path) -> impl Fn(Errno) -> Self {
        move |errno| match errno {
            Errno::LOOP | Errno::NXIO | Errno::ISDIR => Self::NotAFile(path.to_owned()),
            other => Self::Io { verb, path: path.to_owned(), source: other.into() },
        }
    }

    /// What would help, when something would.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::AlreadyRunning(_) => {
                Some("`picoclaw stop` ends it; another PICOCLAW_HOME is another instance")
            }
            _ => None,
        }
    }
}

/// The holder may not have written who it is yet.
fn told(recorded: Option<&Recorded>) -> String {
    match recorded {
        Some(recorded) => format!("PID: {}, version: {}", recorded.pid, recorded.version_told()),
        None => "PID: unknown, version: unknown".to_owned(),
    }
}
