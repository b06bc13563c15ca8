//! Exit codes.

use crate::print;
use std::process::ExitCode;

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done or allowed.
    Done,
    /// Refused or failed.
    Refused,
    /// Bad usage, or an invalid configuration.
    Usage,
    /// An approval is needed, and no person can be asked.
    NeedsApproval,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::NeedsApproval => 3,
        })
    }
}

/// Prints an error about the command line.
pub(crate) fn bad_usage(why: &anyhow::Error) -> Exit {
    print::note(&format!("error: {why:#}"));
    Exit::Usage
}
