//! Which `picoclaw mcp` command runs.
//!
//! Invariant: every command ends in one exit status.

use super::{McpCommand, add, attempt, install, list, remove, serve, show, trust, wrap};
use crate::settings::{ProcessEnv, Settings};
use anyhow::Result;
use std::process::ExitCode;

/// Runs one of them.
pub(crate) fn run(command: &McpCommand, loaded: &Settings, surroundings: &ProcessEnv) -> Result<ExitCode> {
    match command {
        McpCommand::Serve(arguments) => serve::run(arguments, loaded, surroundings).map(ExitCode::from),
        McpCommand::Wrap(arguments) => wrap::run(arguments, loaded, surroundings),
        McpCommand::Trust(arguments) => trust::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Install(arguments) => install::run(arguments, loaded, surroundings).map(ExitCode::from),
        McpCommand::Add(arguments) => add::run(arguments, loaded, surroundings).map(ExitCode::from),
        McpCommand::List(arguments) => list::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Show(arguments) => show::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Test(arguments) => attempt::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Remove(arguments) => remove::run(arguments, loaded, surroundings).map(ExitCode::from),
    }
}
