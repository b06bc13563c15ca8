//! The command line of `picoclaw mcp`.

use crate::arguments::CageArguments;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// `picoclaw mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve the tools to an MCP client, on standard input and output or over HTTP
    Serve(ServeArguments),
    /// Run a third-party MCP server in a cage of its own, with its tools pinned
    Wrap(WrapArguments),
    /// Show what changed in a server's tools, and accept it
    Trust(TrustArguments),
    /// Print the configuration that puts these tools into another program
    Install(InstallArguments),
    /// Add a third-party MCP server to the configuration, so that agents have its tools
    Add(AddArguments),
    /// List the MCP servers of the configuration
    List(ListArguments),
    /// Show a server of the configuration and the tools that it offers
    Show(TestArguments),
    /// Start a server of the configuration, ask for its tools, and end it
    Test(TestArguments),
    /// Remove a server from the configuration
    Remove(RemoveArguments),
}

impl McpCommand {
    /// Whether it needs an instance.
    pub(crate) fn needs_instance(&self) -> bool {
        !matches!(self, Self::Install(_) | Self::List(ListArguments { status: false, .. }))
    }
}

/// `picoclaw mcp serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve streamable HTTP at `/mcp` on this address, such as 127.0.0.1:8931, instead of standard
    /// input and output
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// A file whose first line is the bearer token, instead of `$PICOCLAW_MCP_TOKEN`
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// The directory that the tools work in, instead of the agent's own workspace
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The agent on whose behalf they work
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Offer only tools that change nothing and run no command
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
    /// The name of the server, instead of one from its command line
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A directory that the server may write and works in, instead of a home of its own
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Give the server a variable of this environment
    #[arg(long, value_name = "NAME")]
    pub(crate) pass: Vec<OsString>,
    /// Pass on requests of the server for completions of the host's model, marked as its own
    #[arg(long)]
    pub(crate) allow_sampling: bool,
    /// Pass on questions of the server to the host's user, marked as its own
    #[arg(long)]
    pub(crate) allow_elicitation: bool,
    /// The cage.
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

/// `picoclaw mcp add`.
#[derive(Debug, Args)]
#[command(
    override_usage = "picoclaw mcp add [OPTIONS] NAME CMD_OR_URL [ARGS]...\n       picoclaw mcp add [OPTIONS] NAME -- CMD [ARGS]...",
    after_help = "Options stand before NAME or right behind it; whatever follows the command is the command's own.\nThe server works in a home of its own, in a cage when isolation is on, and sees its program and the absolute paths in its command line."
)]
pub(crate) struct AddArguments {
    /// Give the server a variable, KEY=VALUE
    #[arg(short, long, value_name = "K=V")]
    pub(crate) env: Vec<String>,
    /// A file with more variables, KEY=VALUE a line
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// Send a header along, `Name: value`
    #[arg(short = 'H', long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// The transport; by default `http` for a URL and `stdio` for a command
    #[arg(short, long, value_name = "KIND")]
    pub(crate) transport: Option<Transport>,
    /// Expose a path to this server read-only
    #[arg(long, value_name = "PATH")]
    pub(crate) ro: Vec<PathBuf>,
    /// Expose a path to this server read-write
    #[arg(long, value_name = "PATH")]
    pub(crate) rw: Vec<PathBuf>,
    /// The network of this server, instead of `isolation.network`
    #[arg(long, value_parser = ["none", "host"], conflicts_with = "allow_host")]
    pub(crate) net: Option<String>,
    /// Let this server reach one host by name, such as `api.example.com` or `git.example.net:22`
    #[arg(long, value_name = "NAME[:PORT]")]
    pub(crate) allow_host: Vec<String>,
    /// Replace a server of that name
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Hide its tools until they are searched for
    #[arg(long, overrides_with = "no_deferred")]
    pub(crate) deferred: bool,
    /// Show its tools from the start
    #[arg(long, overrides_with = "deferred")]
    pub(crate) no_deferred: bool,
    /// The name of the server: letters, digits, `-`, `_` and `.`
    pub(crate) name: String,
    /// The server's command and its arguments, or its URL
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD_OR_URL")]
    pub(crate) target: Vec<String>,
}

/// The transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// A program that speaks MCP on its standard streams
    Stdio,
    /// Streamable HTTP
    Http,
    /// Streamable HTTP
    StreamableHttp,
    /// Streamable HTTP, too: the older transport is not supported
    Sse,
}

impl Transport {
    /// The value of `type` in the configuration.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

/// `picoclaw mcp list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Start each enabled server, and report whether it answers
    #[arg(long)]
    pub(crate) status: bool,
    /// How long each may take, such as 5s
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub(crate) timeout: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `picoclaw mcp show` and `picoclaw mcp test`.
#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// The server, as the configuration calls it
    pub(crate) name: String,
    /// How long it may take, such as 5s
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub(crate) timeout: String,
}

/// `picoclaw mcp remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The server, as the configuration calls it
    pub(crate) name: String,
}

/// `picoclaw mcp install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The program that gets the tools
    pub(crate) host: Host,
    /// Print the configuration; the default, and all that is done
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
