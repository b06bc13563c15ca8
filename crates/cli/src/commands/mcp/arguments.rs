//! `picoclaw mcp` as it is typed.
//!
//! Invariant: parsing decides nothing; it only names what was asked.

use crate::arguments::CageArguments;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// `picoclaw mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve the tools to an MCP client, on standard input and output or over HTTP
    Serve(ServeArguments),
    /// Run somebody else's MCP server in a cage of its own, with its tools pinned
    Wrap(WrapArguments),
    /// Show what changed in a server's tools, and consent to it
    Trust(TrustArguments),
    /// Print the configuration that puts these tools into another program
    Install(InstallArguments),
}

impl McpCommand {
    /// Whether it needs an instance to be there.
    pub(crate) fn needs_instance(&self) -> bool {
        !matches!(self, Self::Install(_))
    }
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

/// `picoclaw mcp wrap`.
#[derive(Debug, Args)]
#[command(
    override_usage = "picoclaw mcp wrap [OPTIONS] -- CMD [ARGS]...",
    after_help = "The server sees its program, the absolute paths in its command line (read-only) and a home of its own.\nExit codes: the server's own; 128+n for a signal; 125 when the cage could not be built; 126 and 127 as shells do."
)]
pub(crate) struct WrapArguments {
    /// What to call the server, instead of a name from its command line
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A directory that the server may write and works in, instead of a home of its own
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Give the server a variable of this environment
    #[arg(long, value_name = "NAME")]
    pub(crate) pass: Vec<OsString>,
    /// What it sees and has beside.
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// The server's command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// `picoclaw mcp trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// The server, as `mcp wrap` or the configuration calls it
    pub(crate) name: String,
    /// Show the difference, or the pinned tools where there is none, and change nothing
    #[arg(long)]
    pub(crate) show: bool,
}

/// `picoclaw mcp install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The program that is to have the tools
    pub(crate) host: Host,
    /// Print only; nothing else is ever done
    #[arg(long)]
    pub(crate) print: bool,
    /// The directory that the tools work in, instead of the agent's own workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// A program that takes MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    #[value(name = "vscode")]
    VsCode,
    /// Zed
    Zed,
}
