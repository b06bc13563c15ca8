//! Errors of the gateway lock and of the process registry.

use super::pid_file::PidFile;
use crate::os_file::Errno;
use crate::printable::printable_path;
use std::io;
use std::path::{Path, PathBuf};

/// Why a program cannot take its place in the instance.
#[derive(Debug, thiserror::Error)]
pub enum PresenceError {
    /// Another gateway holds the lock.
    #[error("gateway is already running ({})", describe(.0.as_deref()))]
    AlreadyRunning(Option<Box<PidFile>>),
    /// A link, a FIFO or a directory is where the lock belongs.
    #[error("`{}` is not a regular file", printable_path(.0))]
    NotAFile(PathBuf),
    /// Any other error of the kernel.
    #[error("could not {verb} `{}`: {source}", printable_path(path))]
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
    /// The variant for an error of the operating system.
    pub(super) fn of<E: Into<io::Error>>(verb: &'static str, path: &Path) -> impl Fn(E) -> Self {
        move |error| {
            let (path, source) = (path.to_owned(), error.into());
            match Errno::from_io_error(&source) {
                Some(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => Self::NotAFile(path),
                _ => Self::Io { verb, path, source },
            }
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

/// The holder may not have written its PID file yet.
fn describe(pid_file: Option<&PidFile>) -> String {
    match pid_file {
        Some(pid_file) => format!("PID: {}, version: {}", pid_file.pid, pid_file.printable_version()),
        None => "PID: unknown, version: unknown".to_owned(),
    }
}
