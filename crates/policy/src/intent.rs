//! Intents: the one typed effect that a tool call comes down to. Data only; no handles.

use crate::network::ConnectIntent;
use crate::path::CleanPath;
use crate::shell::guard::Judgement;
use crate::spawning::SpawnIntent;
use std::fmt;
use std::path::PathBuf;

/// One effect, with every fact the judgement needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// Read a file's contents.
    Read(Target),
    /// List a directory.
    List(Target),
    /// Create or replace a file.
    Write(Target),
    /// Run a command.
    Exec(ExecIntent),
    /// Use a background session.
    Session(SessionIntent),
    /// Connect to a web host.
    Connect(ConnectIntent),
    /// Call a tool of an MCP server.
    McpCall(McpCallIntent),
    /// Start a subagent.
    Spawn(SpawnIntent),
    /// Use the scheduler.
    Schedule(ScheduleIntent),
}

/// An action on the list of scheduled jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleIntent {
    /// `add`, `list`, `get`, `update`, `remove`, `enable` or `disable`.
    pub action: &'static str,
    /// The job's id. Empty for all jobs, or for a new one.
    pub job: String,
    /// What the job would do, and when.
    pub detail: String,
}

/// A command to run, with the guard's findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecIntent {
    /// The command as written.
    pub command: String,
    /// The working directory.
    pub cwd: Target,
    /// The guard's findings.
    pub judgement: Judgement,
}

/// A call to a tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCallIntent {
    /// The server's name in the configuration.
    pub server: String,
    /// The tool's name on that server.
    pub tool: String,
    /// The arguments, as JSON.
    pub arguments: String,
}

/// An action on a background session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionIntent {
    /// `poll`, `read`, `write`, `send-keys`, `kill` or `list`.
    pub action: &'static str,
    /// The session's id.
    pub session: String,
    /// The input to send.
    pub input: String,
    /// The guard's findings on the input, if the session's program is a shell.
    pub judgement: Option<Judgement>,
}

/// The spelling in the ledger.
impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(target) => write!(f, "read {}", target.asked),
            Self::List(target) => write!(f, "list {}", target.asked),
            Self::Write(target) => write!(f, "write {}", target.asked),
            Self::Exec(exec) => write!(f, "exec in {}: {}", exec.cwd.asked, exec.command),
            Self::Connect(connect) => connect.fmt(f),
            Self::McpCall(call) => write!(f, "call mcp/{}: {} {}", call.server, call.tool, call.arguments),
            Self::Spawn(spawn) => spawn.fmt(f),
            Self::Schedule(asked) => {
                write!(f, "schedule {}", asked.action)?;
                let parts = [(" ", &asked.job), (": ", &asked.detail)];
                parts
                    .iter()
                    .filter(|(_, part)| !part.is_empty())
                    .try_for_each(|(gap, part)| write!(f, "{gap}{part}"))
            }
            Self::Session(intent) if intent.input.is_empty() => {
                write!(f, "{} {}", intent.action, intent.session)
            }
            Self::Session(intent) => write!(f, "{} {}: {}", intent.action, intent.session, intent.input),
        }
    }
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read its contents.
    Read,
    /// List its entries.
    List,
    /// Create or change it.
    Write,
}

impl Access {
    /// The spelling in the ledger and in hints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
        }
    }
}

/// A requested file and where the path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The requested path.
    pub asked: CleanPath,
    /// Where it leads.
    pub location: PathLocation,
    /// What is there.
    pub kind: FileKind,
    /// The absolute path with every link resolved, if the path was looked up.
    pub resolved: Option<PathBuf>,
}

/// Where a path leads, as the lookup found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathLocation {
    /// No lookup took place: the text alone is refused.
    NotLookedUp,
    /// Beneath the workspace's directory handle.
    Workspace,
    /// Beneath the workspace as text, but a symbolic link leads out of it.
    Escaped,
    /// Elsewhere on the host.
    Host {
        /// The path with every link resolved.
        resolved: PathBuf,
        /// The links that were followed, in order.
        links: Vec<Link>,
    },
    /// Protected: by its path, by a directory above it, or by device and inode (a hard link).
    Protected,
}

/// A symbolic link on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The path of the link itself.
    pub at: PathBuf,
    /// Who could have created it.
    pub owner: LinkOwner,
}

/// Who could have created or changed a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOwner {
    /// The system: the link lies where no agent can write.
    System,
    /// Any agent: the link lies where an agent can write.
    Anyone,
}

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// It does not exist.
    Missing,
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A FIFO, socket or device, or a procfs entry reached through a workspace.
    Special,
}
