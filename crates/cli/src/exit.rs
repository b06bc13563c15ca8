//! Exit codes: what a script learns from picoclaw.
//!
//! Invariant: every way out of the program is one of these four, or a command's own status.

use crate::print;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or allowed.
    Done,
    /// Refused, or failed.
    Refused,
    /// Bad usage, or a configuration that cannot be used.
    Usage,
    /// A person must be asked, and nobody can be.
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

/// Says what is wrong with the command line.
pub(crate) fn bad_usage(why: &anyhow::Error) -> Exit {
    print::note(&format!("error: {why:#}"));
    Exit::Usage
}
