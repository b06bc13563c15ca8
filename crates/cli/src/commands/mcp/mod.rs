//! `picoclaw mcp`: serves the tools to MCP hosts, and configures, tests and wraps MCP servers.

mod add;
mod arguments;
mod audit;
mod describe;
mod fetch;
mod host_instructions;
mod install;
mod list;
mod new_server;
mod remove;
mod serve;
mod show;
mod test;
mod trust;
mod wrap;

pub(crate) use arguments::McpCommand;
pub(crate) use audit::recorded;

use crate::settings::{ProcessEnv, Settings};
use anyhow::Result;
use std::process::ExitCode;

/// Runs a subcommand.
pub(crate) fn run(command: &McpCommand, loaded: &Settings, process_env: &ProcessEnv) -> Result<ExitCode> {
    match command {
        McpCommand::Serve(arguments) => serve::run(arguments, loaded, process_env).map(ExitCode::from),
        McpCommand::Wrap(arguments) => wrap::run(arguments, loaded, process_env),
        McpCommand::Trust(arguments) => trust::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Install(arguments) => install::run(arguments, loaded, process_env).map(ExitCode::from),
        McpCommand::Add(arguments) => add::run(arguments, loaded, process_env).map(ExitCode::from),
        McpCommand::List(arguments) => list::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Show(arguments) => show::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Test(arguments) => test::run(arguments, loaded).map(ExitCode::from),
        McpCommand::Remove(arguments) => remove::run(arguments, loaded, process_env).map(ExitCode::from),
    }
}
