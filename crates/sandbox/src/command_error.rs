//! Why an operator's command or a helper program was not started.

use crate::host_agents::HostAgentError;
use crate::isolate::{IsolateError, PlanError, StartError};
use crate::launch::{LaunchError, ProgramError, PublishError};
use crate::ledger::LedgerError;
use crate::printable::printable_path;
use crate::state_dir::StateError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a command or helper was not started.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program cannot be found.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// There is no command.
    #[error("there is no command to run")]
    Nothing,
    /// No cage is available on this host.
    #[error(transparent)]
    Start(#[from] StartError),
    /// An agent of the operator's cannot be lent.
    #[error(transparent)]
    Agent(#[from] HostAgentError),
    /// A port is not published.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The backend cannot hold what a flag asks for.
    #[error("`{flag}` needs {needs}: this host offers {backend}")]
    Flag {
        /// The flag, with its value where that matters.
        flag: &'static str,
        /// What it takes.
        needs: &'static str,
        /// What the host gives.
        backend: &'static str,
    },
    /// The cage cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The cage cannot be built.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    /// The child cannot be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The project's user environment cannot be used.
    #[error(transparent)]
    Environment(#[from] StateError),
    /// It cannot be recorded, so it is not started.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// An agent could replace what would be run.
    #[error("`{}` lies where an agent can write; move it out of the workspace", printable_path(path))]
    AgentWritable {
        /// The program or script.
        path: PathBuf,
    },
    /// A directory cannot be used.
    #[error("could not use the directory `{}`", printable_path(path))]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl CommandError {
    pub(crate) fn unusable(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Directory { path: path.to_owned(), source: source.into() }
    }

    /// The exit code: 126 and 127 as shells do, 125 for everything about the cage.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Program(why) => why.exit_code(),
            Self::Launch(why) => why.exit_code(),
            _ => 125,
        }
    }

    /// What would help.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Start(StartError::CannotEnforce { .. }) => {
                Some("show it under its own path; another path inside needs user namespaces".to_owned())
            }
            // The rest of the hint is about switching isolation off, which is not possible here.
            Self::Start(why) => why.hint().lines().next().map(str::to_owned),
            Self::Flag { flag: "--profile", .. } => {
                Some("`--pass NAME` gives the command a key instead".to_owned())
            }
            Self::Launch(why) => why.hint(),
            Self::Agent(why) => why.hint(),
            _ => None,
        }
    }
}
