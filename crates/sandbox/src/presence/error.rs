//! Errors of the gateway lock and of the process registry.

use super::pid_file::PidFile;
use crate::state_dir::StateError;

/// Why a program cannot take its place in the instance.
#[derive(Debug, thiserror::Error)]
pub enum PresenceError {
    /// Another gateway holds the lock.
    #[error("gateway is already running ({})", describe(.0.as_deref()))]
    AlreadyRunning(Option<Box<PidFile>>),
    /// A file of the lock or of the registry.
    #[error(transparent)]
    State(#[from] StateError),
}

impl PresenceError {
    /// What would help, when something would.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::AlreadyRunning(_) => {
                Some("`picoclaw stop` ends it; another PICOCLAW_HOME is another instance")
            }
            Self::State(why) => why.hint(),
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
