//! What is asked, as facts: the one typed effect that a call comes down to.
//!
//! Invariant: an intent describes; it holds no handle and can do nothing.

use crate::network::ConnectIntent;
use crate::path::CleanPath;
use crate::shell::guard::Judgement;
use crate::spawning::SpawnIntent;
use std::fmt;
use std::path::PathBuf;

/// One effect, with everything that was found out about it before it happens.
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
    /// Do something with a command that runs in the background.
    Session(SessionIntent),
    /// Connect to a host on the web.
    Connect(ConnectIntent),
    /// Ask a program of the operator's, an MCP server, to do something.
    McpCall(McpCallIntent),
    /// Start a subagent.
    Spawn(SpawnIntent),
    /// Do something with a scheduled job.
    Schedule(ScheduleIntent),
}

/// Something done with the list of scheduled jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleIntent {
    /// What: `add`, `list`, `get`, `update`, `remove`, `enable`, `disable`.
    pub action: &'static str,
    /// With which job; empty for all, or for a new one.
    pub job: String,
    /// What the job would do, and when.
    pub detail: String,
}

/// A command to be run, and what the guard found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecIntent {
    /// The command, as it was written.
    pub command: String,
    /// The directory it would start in.
    pub cwd: Target,
    /// What the guard found.
    pub judgement: Judgement,
}

/// Something that a server is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCallIntent {
    /// The server, as the configuration names it.
    pub server: String,
    /// Its tool, as it names it.
    pub tool: String,
    /// What it would be given, as JSON.
    pub arguments: String,
}

/// Something done with a background session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionIntent {
    /// What: `poll`, `read`, `write`, `send-keys`, `kill`, `list`.
    pub action: &'static str,
    /// With which session.
    pub session: String,
    /// What would be typed.
    pub input: String,
    /// What the guard found in the input, where the session's program is a shell.
    pub judgement: Option<Judgement>,
}

/// What is asked, in words: the ledger's spelling.
impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(target) => write!(f, "read {}", target.asked),
            Self::List(target) => write!(f, "list {}", target.asked),
            Self::Write(target) => write!(f, "write {}", target.asked),
            Self::Exec(exec) => write!(f, "exec in {}: {}", exec.cwd.asked, exec.command),
            Self::Connect(connect) => connect.fmt(f),
            Self::McpCall(ask) => write!(f, "consult mcp/{}: {} {}", ask.server, ask.tool, ask.arguments),
            Self::Spawn(spawn) => spawn.fmt(f),
            Self::Schedule(asked) => {
                write!(f, "schedule {}", asked.action)?;
                let parts = [(" ", &asked.job), (": ", &asked.detail)];
                parts
                    .iter()
                    .filter(|(_, part)| !part.is_empty())
                    .try_for_each(|(gap, part)| write!(f, "{gap}{part}"))
            }
            Self::Session(attend) if attend.input.is_empty() => {
                write!(f, "{} {}", attend.action, attend.session)
            }
            Self::Session(attend) => write!(f, "{} {}: {}", attend.action, attend.session, attend.input),
        }
    }
}

/// The use that is made of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its contents are read.
    Read,
    /// Its entries are named.
    List,
    /// It is made or changed.
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

/// A file as it was asked for, and where that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The path, absolute and clean.
    pub asked: CleanPath,
    /// Where it leads.
    pub landing: PathLocation,
    /// What is there.
    pub kind: FileKind,
}

/// Where a path leads, as the look-up found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathLocation {
    /// Nobody looked: the text alone is refused.
    Unseen,
    /// Beneath the workspace's own handle.
    Workspace,
    /// Beneath the workspace as text, but a link leads out of it.
    Escaped,
    /// Elsewhere on the host.
    Host {
        /// The path with every link followed.
        resolved: PathBuf,
        /// Every link that was followed, in order.
        links: Vec<Link>,
    },
    /// Something Protected: by its path, by a directory above it, or by device and inode (a hard link).
    Protected,
}

/// A symbolic link on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where the link itself is.
    pub at: PathBuf,
    /// Who could have put it there.
    pub owner: LinkOwner,
}

/// Who could have made or changed a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOwner {
    /// It lies where no agent can write: the system's own.
    System,
    /// It lies where an agent could have put it.
    Anyone,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Nothing is there yet.
    Missing,
    /// An ordinary file.
    Regular,
    /// A directory.
    Directory,
    /// A FIFO, socket, device, or anything of procfs reached through a workspace.
    Special,
}
