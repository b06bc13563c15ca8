//! The command line, as clap types.

use crate::commands::approvals::ApprovalsCommand;
use crate::commands::audit::AuditArgs;
use crate::commands::cron::CronCommand;
use crate::commands::mcp::McpCommand;
use crate::commands::profile::ProfileCommand;
use crate::commands::token::TokenCommand;
use clap::{Args, Parser, Subcommand, ValueEnum};
use picoclaw_sandbox::isolate::CacheMode;
use std::ffi::OsString;
use std::path::PathBuf;

/// Lets AI agents work on a real machine without being trusted.
#[derive(Debug, Parser)]
#[command(
    name = "picoclaw",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done or allowed · 1 refused or failed · 2 bad usage or configuration · 3 needs approval and no person can be asked."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The arguments of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Configuration file, instead of `$PICOCLAW_CONFIG` and `<home>/config.json`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk to an agent: one turn with `-m`, else a session at this terminal
    Agent(AgentArguments),
    /// Run one tool exactly as an agent would: same policy, same audit log
    Tool(ToolArguments),
    /// List, show or clear conversations with agents
    Session(SessionArguments),
    /// Run any command in the cage
    Run(RunArguments),
    /// List, show and check the profiles of `run --profile`
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Show the policy's verdict on an action, without performing it
    Check(CheckArguments),
    /// Test in a real cage what a child process can do on this host
    Doctor(DoctorArguments),
    /// Show version, configuration, workspaces and every exception to the defaults
    Status(Listing),
    /// Create an instance and, at a terminal, find, test and configure a model
    Onboard(OnboardArguments),
    /// Compare a PicoClaw home with this program, key by key, and adapt it
    Migrate(MigrateArguments),
    /// Validate or show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Read and verify the audit log
    Audit(AuditArgs),
    /// Trust the present content of instruction files: AGENT.md, HEARTBEAT.md, memory, skills
    Trust(TrustArguments),
    /// List and revoke the acts that were answered with `always`
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Serve the tools over MCP, and use the tools of other MCP servers
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Serve agents over HTTP: chats, approvals, a console, jobs and the heartbeat
    Gateway(GatewayArguments),
    /// Make, list and revoke tokens for the gateway
    #[command(subcommand)]
    Token(TokenCommand),
    /// List, add, change and run scheduled jobs
    #[command(subcommand)]
    Cron(CronCommand),
    /// Stop every running turn and child process of the instance, and its gateway
    Stop,
    /// Remove the user environments of projects that are gone, and what killed programs left behind
    Clean(CleanArguments),
    /// Print the version
    Version(Listing),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command with `--dir`
    Man {
        /// Directory for the pages
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// The output format of a listing.
#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `picoclaw trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// Files in an agent's workspace; a file that changes later is no longer trusted
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// `picoclaw onboard`.
#[derive(Debug, Args)]
#[command(
    after_help = "At a terminal it looks for `ANTHROPIC_API_KEY` and `OPENAI_API_KEY` in the environment and for Ollama, LM Studio, vLLM and llama.cpp on this machine, and asks which model to use. Without a terminal it asks nothing."
)]
pub(crate) struct OnboardArguments {
    /// Set up this model without a question, such as `openai/gpt-4.1` or `ollama/qwen3`
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,
    /// The base URL of its API, instead of the provider's own
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) api_base: Option<String>,
    /// The environment variable that holds its key
    #[arg(long, value_name = "NAME", requires = "model")]
    pub(crate) key_env: Option<String>,
    /// Send nothing to the model: neither the test nor the first turn
    #[arg(long, requires = "model")]
    pub(crate) no_test: bool,
    /// Set up no model
    #[arg(long, conflicts_with = "model")]
    pub(crate) no_model: bool,
}

/// `picoclaw migrate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without `--write` nothing is changed. `--write` names `isolation` if the configuration does not, and moves keys of models from `config.json` into `.security.yml`; both files are copied first.\n\nExit codes: 0 explained or written · 1 not written · 2 there is no configuration, or it does not load."
)]
pub(crate) struct MigrateArguments {
    /// The home to read, instead of `$PICOCLAW_HOME` and `~/.picoclaw`
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print for every key what it means here, and what to change; the default
    #[arg(long)]
    pub(crate) explain: bool,
    /// Make the changes, after a copy of each file
    #[arg(long, conflicts_with = "explain")]
    pub(crate) write: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `picoclaw agent`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a model, a line runs as a command and `TOOL {json}` runs that tool: same policy, same cage, same audit log.\n\nExit codes with a message: 0 answered · 1 failed · 2 bad usage or configuration · 3 an approval was needed and no person could be asked."
)]
pub(crate) struct AgentArguments {
    /// Run one turn with this message; `-` reads it from standard input, which is the default if
    /// that is not a terminal
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// The session to continue or start
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) session: Option<String>,
    /// The agent to talk to
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// The model, by its name in `model_list`
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Work in the project at this directory, instead of the configured workspace
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Log everything
    #[arg(short, long)]
    pub(crate) debug: bool,
}

/// `picoclaw gateway`.
#[derive(Debug, Args)]
#[command(
    after_help = "SIGHUP reloads the configuration; SIGTERM stops the gateway within 15 seconds. Listening for other machines needs `gateway.token`, of at least 16 characters, 6 of them different."
)]
pub(crate) struct GatewayArguments {
    /// Address to listen on, instead of `gateway.host`: an IP address, `localhost` or `*`
    #[arg(long, value_name = "H")]
    pub(crate) host: Option<String>,
    /// Port to listen on, instead of `gateway.port`
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
}

/// `picoclaw session`.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// The subcommand
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
    /// The agent of the sessions; by default every agent for `list`, else the default agent
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// The subcommands of `picoclaw session`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions with the number of messages and the time of the last
    List {
        /// Only this session
        #[arg(allow_hyphen_values = true)]
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the messages of a session
    Show {
        /// The session; `cli:default` by default
        #[arg(allow_hyphen_values = true)]
        name: Option<String>,
        /// Print one JSON object per message
        #[arg(long)]
        json: bool,
    },
    /// Remove a session
    Clear {
        /// The session; `cli:default` by default
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
    /// Work in the project at this directory, instead of the configured workspace
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// With `list`: print JSON, one tool a line, with its parameters as JSON Schema
    #[arg(long = "json", id = "as-json")]
    pub(crate) as_json: bool,
    /// With `list`: start the MCP servers of the configuration, and list their tools too
    #[arg(long)]
    pub(crate) mcp: bool,
}

/// `picoclaw run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "picoclaw run [OPTIONS] -- CMD [ARGS]...",
    after_help = "Exit codes: the command's own; 128+n for a signal; 124 for --timeout; 125 when the cage could not be built; 126 and 127 as shells do; 2 for a flag that is not understood."
)]
pub(crate) struct RunArguments {
    /// The working directory, which the command may write, instead of the current one
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The project root, which the command may write, instead of the enclosing git work tree;
    /// `none` for the working directory alone
    #[arg(long, value_name = "DIR|none")]
    pub(crate) root: Option<PathBuf>,
    /// The cage.
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// What a program needs besides the project: `claude`, `codex` or one of your own (see
    /// `picoclaw profile`)
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Pass an environment variable with its value, which stays out of the command line
    #[arg(long, value_name = "NAME")]
    pub(crate) pass: Vec<String>,
    /// Let the command use your ssh-agent and read your known hosts; keys stay outside
    #[arg(long)]
    pub(crate) ssh_agent: bool,
    /// Let the command sign and decrypt by your gpg-agent, and read your public keys; private keys
    /// stay outside
    #[arg(long)]
    pub(crate) gpg: bool,
    /// Which caches of package managers the command gets
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cache: CacheArgument,
    /// Forward a port of this host's loopback, and of no other address, to a port in the cage
    #[arg(long, value_name = "HOSTPORT[:CAGEPORT]")]
    pub(crate) publish: Vec<String>,
    /// Kill the command after this time, such as 30s or 5m
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// `--cache`.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum CacheArgument {
    /// Yours are readable; what the run adds is discarded
    Shared,
    /// The project's own, kept from run to run
    #[default]
    Private,
    /// Empty, and discarded
    None,
}

impl From<CacheArgument> for CacheMode {
    fn from(argument: CacheArgument) -> Self {
        match argument {
            CacheArgument::Shared => Self::Shared,
            CacheArgument::Private => Self::Private,
            CacheArgument::None => Self::None,
        }
    }
}

/// The cage of a command, besides its directory.
#[derive(Debug, Args)]
pub(crate) struct CageArguments {
    /// Expose a path read-only
    #[arg(long, value_name = "PATH")]
    pub(crate) ro: Vec<PathBuf>,
    /// Expose a path read-write
    #[arg(long, value_name = "PATH")]
    pub(crate) rw: Vec<PathBuf>,
    /// Expose a path at another path, `ro` or `rw`
    #[arg(long, value_name = "SRC:DST:MODE")]
    pub(crate) expose: Vec<String>,
    /// Let the command write a protected file of its directory, such as .git/config
    #[arg(long, value_name = "PATH")]
    pub(crate) unprotect: Vec<PathBuf>,
    /// The network: `none`, a private loopback, which is the default unless a profile opens it, or
    /// `host`
    #[arg(long, value_parser = ["none", "host"])]
    pub(crate) net: Option<String>,
    /// Reach this host, by name: `api.example.com`, `*.example.org:443`, `localhost:5432`; at ports
    /// 443 and 80 unless one is named
    #[arg(long, value_name = "NAME[:PORT]")]
    pub(crate) allow_host: Vec<String>,
    /// Toolchains to expose: `auto`, `none` or a list such as `rust,node`
    #[arg(long, value_name = "LIST")]
    pub(crate) toolchain: Option<String>,
    /// Set an environment variable
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<String>,
    /// Memory limit of the process tree, such as 512M or 2G
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Size of the private /tmp and /dev/shm, which count as memory, such as 512M or 2G
    #[arg(long, value_name = "SIZE")]
    pub(crate) tmp: Option<String>,
    /// Let the processes of the cage trace and profile each other: gdb, strace, perf
    #[arg(long)]
    pub(crate) debug: bool,
}

/// `picoclaw clean`.
#[derive(Debug, Args)]
#[command(
    after_help = "Commands under `picoclaw run` have a home of their own for each project, in `runtime-user-env/run` of the instance. Workspaces, sessions, the audit log and whatever a running command uses are never touched."
)]
pub(crate) struct CleanArguments {
    /// Only list what would be removed and what would stay
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove the user environments of all projects
    #[arg(long, conflicts_with = "projects")]
    pub(crate) all: bool,
    /// Remove the user environments of these projects: their directories, or names as listed
    #[arg(value_name = "PROJECT")]
    pub(crate) projects: Vec<PathBuf>,
}

/// `picoclaw doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove a layer before testing, to see the test fail: a layer's name, or `all`
    #[arg(long, hide = true, value_name = "LAYER", value_parser = ["filesystem", "network", "processes", "syscalls", "environment", "limits", "all"])]
    pub(crate) fault: Option<String>,
    /// Take memory of this kind, in a child of the examination
    #[arg(long, hide = true, value_name = "KIND")]
    pub(crate) hold: Option<String>,
    /// How much of it
    #[arg(long, hide = true, value_name = "MIB", default_value_t = 0)]
    pub(crate) mebibytes: usize,
    /// Try to connect to this socket, in a child of the examination
    #[arg(long, hide = true, value_name = "PATH")]
    pub(crate) connect: Option<PathBuf>,
}

/// `picoclaw check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The kind of effect
    pub(crate) action: CheckAction,
    /// The command line, the path, the URL, or HOST:PORT
    #[arg(allow_hyphen_values = true)]
    pub(crate) subject: String,
    /// The working directory of the command, absolute or relative to the workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Judge as in the project at this directory, instead of the configured workspace
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The agent on whose behalf it is judged
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The effects that `picoclaw check` judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckAction {
    /// Running a command
    Exec,
    /// Reading a file or listing a directory
    Read,
    /// Writing a file
    Write,
    /// Fetching a URL; its host is resolved but not contacted
    Fetch,
    /// A command's connection to a host
    Connect,
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
