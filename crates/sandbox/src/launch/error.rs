//! Why a child could not be started.

use crate::printable::{printable, printable_path};
use picoclaw_sys::SYSTEM;
use std::error::Error;
use std::io;
use std::path::PathBuf;

/// The standard streams by number.
const STREAM_NAMES: [&str; 3] = ["standard input", "standard output", "standard error"];

/// Why no child was started. No process of it is left.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program cannot be run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The confinement cannot be set up.
    #[error(transparent)]
    Confinement(Box<dyn Error + Send + Sync>),
    /// A program, argument or variable contains a NUL byte.
    #[error("{what} contains a NUL byte")]
    Nul {
        /// What contains it.
        what: &'static str,
    },
    /// A standard stream cannot be given to a confined child.
    #[error("{} is {what}, which a confined command cannot be given", STREAM_NAMES.get(*number).unwrap_or(&""))]
    Stream {
        /// Its descriptor.
        number: usize,
        /// What it is.
        what: &'static str,
    },
    /// A step of the preparation failed.
    #[error("could not {step}")]
    Step {
        /// What the step does.
        step: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// A pseudo-terminal was asked for where there is none.
    #[error("PTY is not supported on {SYSTEM}. Use background=true without pty.")]
    NoPty,
    /// The supervisor was killed before it reported anything.
    #[error("the child was ended while it was being prepared")]
    Vanished,
}

/// Why a program cannot be run, in the two cases that shells distinguish.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no such program.
    #[error("`{}`: command not found", printable_path(program))]
    NotFound {
        /// The program.
        program: PathBuf,
    },
    /// It is a script, and the program of its first line is not there.
    #[error(
        "`{}` exists, but its interpreter `{}` was not found",
        printable_path(program),
        printable(interpreter)
    )]
    Interpreter {
        /// The program.
        program: PathBuf,
        /// The interpreter.
        interpreter: String,
    },
    /// It exists, and the loader that its header names does not.
    #[error("`{}` exists, but the loader that it names was not found", printable_path(program))]
    Loader {
        /// The program.
        program: PathBuf,
    },
    /// It exists on the host alone, or a link that leads to it does.
    #[error(
        "`{}` exists, but the cage does not show it, or a link that leads to it",
        printable_path(program)
    )]
    Hidden {
        /// The program.
        program: PathBuf,
    },
    /// It exists and cannot be executed.
    #[error("`{}` cannot be executed", printable_path(program))]
    NotExecutable {
        /// The program.
        program: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
}

impl ProgramError {
    /// The exit code that a shell gives.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } | Self::Interpreter { .. } | Self::Loader { .. } | Self::Hidden { .. } => {
                127
            }
            Self::NotExecutable { .. } => 126,
        }
    }

    pub(in crate::launch) fn from_errno(program: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { program },
            _ => Self::NotExecutable { program, source },
        }
    }
}

impl LaunchError {
    /// The exit code of `picoclaw run` for this error: 126 and 127 as in shells, 125 for everything
    /// else.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Program(error) => error.exit_code(),
            Self::Confinement(_)
            | Self::Nul { .. }
            | Self::Stream { .. }
            | Self::Step { .. }
            | Self::NoPty
            | Self::Vanished => 125,
        }
    }

    /// What would help.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Stream { number: 0, .. } => Some("redirect it: `< /dev/null` is an empty input".to_owned()),
            Self::Stream { number, .. } => {
                Some(format!("redirect it: `{number}> /dev/null`, `{number}> FILE`, or a pipe"))
            }
            _ => None,
        }
    }

    /// The confinement cannot be set up, for this reason.
    pub(crate) fn confinement(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Confinement(source.into())
    }

    pub(crate) fn step(step: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Step { step: step.into(), source: source.into() }
    }
}
