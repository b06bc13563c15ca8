//! A shell.

use picoclaw_policy::shell::Dialect;
use std::path::PathBuf;

/// A shell that runs a command.
#[derive(Debug)]
pub(crate) struct Shell {
    /// Its path.
    pub(crate) program: PathBuf,
    pub(crate) dialect: Dialect,
    /// Its arguments before the command, beginning with its name.
    pub(crate) arguments: &'static [&'static str],
}
