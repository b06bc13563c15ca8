//! The command line as it is typed.
//!
//! Invariant: parsing decides nothing; it only names what was asked.

use crate::commands::audit::AuditArgs;
use crate::commands::cron::CronCommand;
use crate::commands::mcp::McpCommand;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Lets AI agents work on a real machine without being trusted.
#[derive(Debug, Parser)]
#[command(
    name = "picoclaw",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done or allowed · 1 refused or failed · 2 bad usage or configuration · 3 needs approval and nobody can be asked."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Configuration file, instead of `$PICOCLAW_CONFIG` and `<home>/config.json`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk to an agent: one turn with `-m`, else a session at this terminal
    Agent(AgentArguments),
    /// Run one tool exactly as an agent would: same desk, same ledger
    Tool(ToolArguments),
    /// List, show or clear what was said to agents
    Session(SessionArguments),
    /// Run any command in the cage
    Run(RunArguments),
    /// Ask what would happen, without doing it
    Check(CheckArguments),
    /// Try in a real cage what a child can do on this host
    Doctor(DoctorArguments),
    /// Show version, configuration, workspaces and every exception to the defaults
    Status(Listing),
    /// Make an instance: directories and a first configuration
    Onboard,
    /// Validate or show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Read and verify the ledger
    Audit(AuditArgs),
    /// Serve the tools to other agents, and give agents the tools of other servers
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Stay, and serve agents over HTTP: chats, approvals, a console, jobs and the heartbeat
    Gateway(GatewayArguments),
    /// List, add, change and run scheduled jobs
    #[command(subcommand)]
    Cron(CronCommand),
    /// End every running turn and child of the instance, and its gateway
    Stop,
    /// Print the version
    Version(Listing),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or with `--dir` write one page a command
    Man {
        /// Directory for the pages
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// How a listing is printed.
#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `picoclaw agent`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a model, a line runs as a command and `TOOL {json}` runs that tool: same desk, same cage, same ledger.\n\nExit codes with a message: 0 answered · 1 failed · 2 bad usage or configuration · 3 something had to be asked and nobody could be."
)]
pub(crate) struct AgentArguments {
    /// One turn with this message; `-` reads it from standard input, as does no message when that is no terminal
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// The session to go on with, or to begin
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) session: Option<String>,
    /// The agent to talk to
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// The model, by its name in `model_list`
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print what happens as JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Log everything
    #[arg(short, long)]
    pub(crate) debug: bool,
}

/// `picoclaw gateway`.
#[derive(Debug, Args)]
#[command(
    after_help = "SIGHUP reads the configuration again; SIGTERM ends, within 15 seconds. Listening for other machines needs `gateway.token`."
)]
pub(crate) struct GatewayArguments {
    /// Address to listen at, instead of `gateway.host`: an IP address, `localhost` or `*`
    #[arg(long, value_name = "H")]
    pub(crate) host: Option<String>,
    /// Port to listen at, instead of `gateway.port`
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
}

/// `picoclaw session`.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
    /// The agent whose sessions are meant: for `list` every agent's otherwise, else the default agent's
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// What `picoclaw session` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Name sessions with their messages and when they were written last
    List {
        /// The session, if only one is meant
        #[arg(allow_hyphen_values = true)]
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what was said in a session
    Show {
        /// The session; `cli:default` otherwise
        #[arg(allow_hyphen_values = true)]
        name: Option<String>,
        /// Print one JSON object a message
        #[arg(long)]
        json: bool,
    },
    /// Remove a session
    Clear {
        /// The session; `cli:default` otherwise
        #[arg(allow_hyphen_values = true)]
        name: Option<String>,
    },
}

/// `picoclaw tool`.
#[derive(Debug, Args)]
pub(crate) struct ToolArguments {
    /// The tool's name; `list` shows them all
    pub(crate) name: String,
    /// Its arguments as one JSON object; `-` reads them from standard input
    #[arg(default_value = "{}", allow_hyphen_values = true)]
    pub(crate) json: String,
    /// The agent on whose behalf it runs
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// With `list`: start the MCP servers of the configuration, and list their tools too
    #[arg(long)]
    pub(crate) mcp: bool,
}

/// `picoclaw run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "picoclaw run [OPTIONS] -- CMD [ARGS]...",
    after_help = "Exit codes: the command's own; 128+n for a signal; 124 for --timeout; 125 when the cage could not be built; 126 and 127 as shells do."
)]
pub(crate) struct RunArguments {
    /// The directory that the command may write and works in, instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// What it sees and has beside.
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// End the command after this time, such as 30s or 5m
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// What a caged command sees and has, beside its directory.
#[derive(Debug, Args)]
pub(crate) struct CageArguments {
    /// Show a path read-only
    #[arg(long, value_name = "PATH")]
    pub(crate) ro: Vec<PathBuf>,
    /// Show a path read-write
    #[arg(long, value_name = "PATH")]
    pub(crate) rw: Vec<PathBuf>,
    /// Show a path somewhere else, `ro` or `rw`
    #[arg(long, value_name = "SRC:DST:MODE")]
    pub(crate) expose: Vec<String>,
    /// The network: a private loopback alone, or the host's
    #[arg(long, default_value = "none", value_parser = ["none", "host"])]
    pub(crate) net: String,
    /// Toolchains to show: `auto`, `none` or a list such as `rust,node`
    #[arg(long, value_name = "LIST")]
    pub(crate) toolchain: Option<String>,
    /// Give the command a variable
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<String>,
    /// Memory for the whole tree, such as 512M or 2G
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

/// `picoclaw doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Take a layer away before asking, to see the examination fail: a layer's name, or `all`
    #[arg(long, hide = true, value_name = "LAYER", value_parser = ["filesystem", "network", "processes", "syscalls", "environment", "limits", "all"])]
    pub(crate) fault: Option<String>,
}

/// `picoclaw check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The kind of effect
    pub(crate) action: CheckAction,
    /// The command line, the path, or the address
    #[arg(allow_hyphen_values = true)]
    pub(crate) subject: String,
    /// The directory that a command would start in, absolute or relative to the workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The agent on whose behalf it is asked
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `picoclaw check` can ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckAction {
    /// Running a command
    Exec,
    /// Reading a file or listing a directory
    Read,
    /// Writing a file
    Write,
    /// Fetching an address of the web; its host is looked up, and not spoken to
    Fetch,
}

/// `picoclaw config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Validate, with line, column and the nearest known key
    Check(Listing),
    /// Show the effective configuration with the origin of each value, secrets masked
    Show(Listing),
    /// Print the JSON Schema of the configuration
    Schema,
}
