//! The operator's ssh-agent and gpg-agent, lent to a command: their sockets and public keys, never
//! private ones.

#[cfg(target_os = "linux")]
mod lend;
#[cfg(not(target_os = "linux"))]
mod refuse;

use crate::printable::printable_path;
use picoclaw_policy::config::Expose;
use std::ffi::OsString;
use std::path::PathBuf;

/// Which agents of the operator a command may use.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostAgents {
    /// The ssh-agent that `SSH_AUTH_SOCK` names.
    pub ssh: bool,
    /// The gpg-agent, by its restricted socket.
    pub gpg: bool,
}

/// Why an agent cannot be lent.
#[derive(Debug, thiserror::Error)]
pub enum HostAgentError {
    /// The variable is not set.
    #[error("`--ssh-agent`: there is no ssh-agent: `SSH_AUTH_SOCK` is not set")]
    NoSshAgent,
    /// No agent answers where the variable says.
    #[error("`--ssh-agent`: no ssh-agent answers at `SSH_AUTH_SOCK`, `{}`", printable_path(path))]
    SilentSshAgent {
        /// The socket.
        path: PathBuf,
        /// What connecting to it gave.
        source: std::io::Error,
    },
    /// No agent answers where GnuPG puts its socket.
    #[error("`--gpg`: no gpg-agent answers at {}", paths(tried))]
    NoGpgAgent {
        /// Where it was looked for.
        tried: Vec<PathBuf>,
    },
    /// Another system than Linux.
    #[error("`{flag}` works only on Linux")]
    LinuxOnly {
        /// The flag.
        flag: &'static str,
    },
    /// The home of GnuPG in the cage cannot be made.
    #[error("`--gpg`: could not make `{}`", printable_path(path))]
    GpgHome {
        /// Which directory.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl HostAgentError {
    /// What would help.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSshAgent | Self::SilentSshAgent { .. } => {
                "`eval \"$(ssh-agent)\"` starts one, `ssh-add` gives it a key"
            }
            Self::NoGpgAgent { .. } => {
                "`gpgconf --launch gpg-agent` starts one; `gpgconf --list-dirs agent-extra-socket` says where its socket is"
            }
            Self::GpgHome { .. } | Self::LinuxOnly { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// What a command needs in order to use the agents.
#[derive(Debug, Default)]
pub(crate) struct LentAgents {
    /// Sockets, known hosts and public keys.
    pub(crate) exposures: Vec<Expose>,
    /// Directories that are the command's own.
    pub(crate) private: Vec<PathBuf>,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

fn paths(tried: &[PathBuf]) -> String {
    let names: Vec<_> = tried.iter().map(|path| format!("`{}`", printable_path(path))).collect();
    names.join(" or ")
}
