//! `picoclaw mcp` as it is typed.
//!
//! Invariant: parsing decides nothing; it only names what was asked.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `picoclaw mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve the tools to an MCP client, on standard input and output or over HTTP
    Serve(ServeArguments),
}

/// `picoclaw mcp serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve streamable HTTP at `/mcp` on this address, such as 127.0.0.1:8931, instead of standard input and output
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// A file whose first line is the bearer token, instead of `$PICOCLAW_MCP_TOKEN`
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// The directory that the tools work in, instead of the agent's own workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The agent on whose behalf they work
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Offer only tools that change nothing, and run no command
    #[arg(long)]
    pub(crate) read_only: bool,
}
