//! Errors of sessions.

use picoclaw_sandbox::state_dir::StateError;

/// Why a session could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The name is empty or too long.
    #[error("a session needs a name of 1 to 1024 bytes")]
    BadName,
    /// Another turn holds its lock.
    #[error("session `{}` is in use by another turn", picoclaw_sandbox::printable(name))]
    Busy {
        /// Its name.
        name: String,
    },
    /// The file belongs to a session of another name.
    #[error(
        "session `{}` has the same file as session `{}`",
        picoclaw_sandbox::printable(name),
        picoclaw_sandbox::printable(other)
    )]
    Taken {
        /// The requested name.
        name: String,
        /// The name in the file.
        other: String,
    },
    /// There is no such session.
    #[error("there is no session `{}`", picoclaw_sandbox::printable(name))]
    Missing {
        /// Its name.
        name: String,
    },
    /// A file error.
    #[error("session: {0}")]
    State(#[from] StateError),
}

impl SessionError {
    /// The remedy, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Busy { .. } => Some("wait for it, or name another session with `-s`"),
            Self::Missing { .. } => Some("`picoclaw session list` names them"),
            Self::State(why) => why.hint(),
            Self::BadName | Self::Taken { .. } => None,
        }
    }
}
