//! Why a session could not be had.
//!
//! Invariant: a failure names the session, and never loses what was kept before.

use picoclaw_sandbox::state_dir::StateError;

/// Why a session could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A session needs a name.
    #[error("a session needs a name of 1 to 1024 bytes")]
    BadName,
    /// Another turn runs in it.
    #[error("session `{}` is in use by another turn", picoclaw_sandbox::printable(name))]
    Busy {
        /// Its name.
        name: String,
    },
    /// The file system does not tell two names apart.
    #[error(
        "session `{}` has the same file as session `{}`",
        picoclaw_sandbox::printable(name),
        picoclaw_sandbox::printable(other)
    )]
    Taken {
        /// The name that was asked for.
        name: String,
        /// The name that is there.
        other: String,
    },
    /// There is no such session.
    #[error("there is no session `{}`", picoclaw_sandbox::printable(name))]
    Missing {
        /// Its name.
        name: String,
    },
    /// The file.
    #[error("session: {0}")]
    State(#[from] StateError),
}

impl SessionError {
    /// What would help, when something would.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Busy { .. } => Some("wait for it, or name another session with `-s`"),
            Self::Missing { .. } => Some("`picoclaw session list` names them"),
            Self::State(why) => why.hint(),
            Self::BadName | Self::Taken { .. } => None,
        }
    }
}
