//! Why a child could not be started.
//!
//! Invariant: an error says which step failed; nothing of the child is left when one is returned.

use crate::isolate::IsolateError;
use std::io;
use std::path::PathBuf;

/// Why no child was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program itself.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The cage.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    /// A name, argument or variable that no program can be given.
    #[error("{what} contains a NUL byte")]
    Nul {
        /// Which text.
        what: &'static str,
    },
    /// The kernel refused a step of the preparation.
    #[error("could not {step}")]
    Step {
        /// The step, in words.
        step: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The child's keeper ended before it reported anything.
    #[error("the child was ended while it was being prepared")]
    Vanished,
}

/// Why a program cannot be run, as shells tell it apart.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no such program.
    #[error("`{program}`: command not found")]
    NotFound {
        /// What was asked for.
        program: PathBuf,
    },
    /// It is there and cannot be executed.
    #[error("`{program}` cannot be executed")]
    NotExecutable {
        /// What was asked for.
        program: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl ProgramError {
    /// The exit code a shell would give.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
        }
    }

    pub(super) fn from_errno(program: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { program },
            _ => Self::NotExecutable { program, source },
        }
    }
}

impl LaunchError {
    /// The exit code of `picoclaw run` for this error: 126 and 127 as shells do, 125 for everything of ours.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Program(error) => error.exit_code(),
            Self::Isolate(_) | Self::Nul { .. } | Self::Step { .. } | Self::Vanished => 125,
        }
    }

    pub(super) fn step(step: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Step { step: step.into(), source: source.into() }
    }
}
