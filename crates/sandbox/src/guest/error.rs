//! Why a guest was not let in.
//!
//! Invariant: a guest that cannot be caged as asked is not started.

use crate::isolate::{IsolateError, PlanError};
use crate::launch::{LaunchError, ProgramError};
use crate::ledger::LedgerError;
use std::io;
use std::path::PathBuf;

/// Why a guest was not started.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// There is no command.
    #[error("there is no command to run")]
    Nothing,
    /// The program cannot be found.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The cage cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The cage cannot be built.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    /// The child cannot be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It cannot be recorded, so it is not started.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A directory cannot be used.
    #[error("could not use the directory `{}`", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
