//! Where a workspace may be.
//!
//! A workspace must contain nothing that decides what its agent may do, and nothing of another
//! agent. Paths must be canonical, so that no link hides an overlap.

use crate::subject::AgentId;
use std::path::{Path, PathBuf};

/// Directories of an instance that are closed to agents.
const RESERVED: &[&str] = &["ledger", "state", "logs", "cache", "skills", "runtime-user-env"];

/// The paths that workspaces must not contain, canonical.
#[derive(Debug, Clone, Copy)]
pub struct ReservedPaths<'a> {
    /// The instance: `PICOCLAW_HOME`.
    pub instance: &'a Path,
    /// Home directories.
    pub homes: &'a [PathBuf],
    /// The configuration and the secrets file.
    pub files: &'a [PathBuf],
}

/// Why a workspace cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceFault {
    /// The root directory.
    #[error("the workspace of `{agent}` is `/`")]
    Root {
        /// The agent.
        agent: AgentId,
    },
    /// A home directory, or a directory above one.
    #[error("the workspace of `{agent}`, `{workspace}`, holds the home directory `{home}`")]
    Home {
        /// The agent.
        agent: AgentId,
        /// The workspace.
        workspace: PathBuf,
        /// The home directory.
        home: PathBuf,
    },
    /// The instance, or a directory above it.
    #[error("the workspace of `{agent}`, `{workspace}`, holds the instance `{instance}`")]
    Instance {
        /// The agent.
        agent: AgentId,
        /// The workspace.
        workspace: PathBuf,
        /// The instance.
        instance: PathBuf,
    },
    /// A directory of the instance that is closed to agents.
    #[error(
        "the workspace of `{agent}`, `{workspace}`, lies in `{part}`, which the instance keeps for itself"
    )]
    Reserved {
        /// The agent.
        agent: AgentId,
        /// The workspace.
        workspace: PathBuf,
        /// The part.
        part: PathBuf,
    },
    /// It contains the configuration or the secrets file.
    #[error("the workspace of `{agent}`, `{workspace}`, holds `{file}`")]
    Holds {
        /// The agent.
        agent: AgentId,
        /// The workspace.
        workspace: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// Two workspaces overlap.
    #[error("the workspaces of `{one}` and `{other}` overlap: `{first}` and `{second}`")]
    Overlap {
        /// The first agent.
        one: AgentId,
        /// The second agent.
        other: AgentId,
        /// The first workspace.
        first: PathBuf,
        /// The second workspace.
        second: PathBuf,
    },
}

impl WorkspaceFault {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Holds { .. } => {
                "keep the configuration outside every workspace, or an agent could unlock itself"
            }
            Self::Overlap { .. } => "give each agent a directory of its own, none inside another",
            _ => "give the agent a directory of its own, such as `~/.picoclaw/workspace`",
        }
    }
}

/// Every fault of a set of workspaces.
pub fn check_workspaces(
    workspaces: &[(AgentId, PathBuf)],
    grounds: &ReservedPaths<'_>,
) -> Vec<WorkspaceFault> {
    let alone = workspaces.iter().filter_map(|(agent, workspace)| alone(agent, workspace, grounds));
    let pairs = workspaces
        .iter()
        .enumerate()
        .flat_map(|(index, one)| workspaces[index + 1..].iter().filter_map(move |other| overlap(one, other)));
    alone.chain(pairs).collect()
}

fn alone(agent: &AgentId, workspace: &Path, grounds: &ReservedPaths<'_>) -> Option<WorkspaceFault> {
    let whose = || (agent.clone(), workspace.to_owned());
    if workspace.parent().is_none() {
        return Some(WorkspaceFault::Root { agent: agent.clone() });
    }
    if grounds.instance.starts_with(workspace) {
        let (agent, workspace) = whose();
        return Some(WorkspaceFault::Instance { agent, workspace, instance: grounds.instance.to_owned() });
    }
    if let Some(home) =
        grounds.homes.iter().find(|home| home.starts_with(workspace) && home.parent().is_some())
    {
        let (agent, workspace) = whose();
        return Some(WorkspaceFault::Home { agent, workspace, home: home.clone() });
    }
    if let Some(file) = grounds.files.iter().find(|file| file.starts_with(workspace)) {
        let (agent, workspace) = whose();
        return Some(WorkspaceFault::Holds { agent, workspace, file: file.clone() });
    }
    if !workspace.starts_with(grounds.instance) {
        return None;
    }
    let mut parts = RESERVED.iter().map(|part| grounds.instance.join(part));
    parts.find(|part| workspace.starts_with(part)).map(|part| {
        let (agent, workspace) = whose();
        WorkspaceFault::Reserved { agent, workspace, part }
    })
}

fn overlap(one: &(AgentId, PathBuf), other: &(AgentId, PathBuf)) -> Option<WorkspaceFault> {
    let overlaps = one.1.starts_with(&other.1) || other.1.starts_with(&one.1);
    overlaps.then(|| WorkspaceFault::Overlap {
        one: one.0.clone(),
        other: other.0.clone(),
        first: one.1.clone(),
        second: other.1.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(workspaces: &[(&str, &str)]) -> Vec<String> {
        let workspaces: Vec<_> = workspaces
            .iter()
            .map(|(agent, path)| (AgentId::parse(agent).unwrap(), PathBuf::from(path)))
            .collect();
        let grounds = ReservedPaths {
            instance: Path::new("/home/user/.picoclaw"),
            homes: &[PathBuf::from("/home/user"), PathBuf::from("/root"), PathBuf::from("/")],
            files: &[
                PathBuf::from("/etc/picoclaw/config.json"),
                PathBuf::from("/home/user/.picoclaw/.security.yml"),
            ],
        };
        check_workspaces(&workspaces, &grounds).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_workspace_holds_nothing_that_decides_about_it() {
        for (why, path, want) in [
            ("the default place", "/home/user/.picoclaw/workspace", None),
            ("a place under /tmp works", "/tmp/picoclaw-sandbox", None),
            ("a directory in a home works", "/home/user/project", None),
            ("the whole machine", "/", Some("is `/`")),
            ("a home directory", "/home/user", Some("holds the instance")),
            ("another's home directory", "/root", Some("holds the home directory `/root`")),
            ("all home directories", "/home", Some("holds the instance")),
            ("the instance itself", "/home/user/.picoclaw", Some("holds the instance")),
            ("the ledger", "/home/user/.picoclaw/ledger", Some("keeps for itself")),
            ("below the state", "/home/user/.picoclaw/state/x", Some("keeps for itself")),
            ("beside the configuration", "/etc/picoclaw", Some("holds `/etc/picoclaw/config.json`")),
        ] {
            let got = faults(&[("main", path)]);
            match want {
                None => assert!(got.is_empty(), "{why}: {got:?}"),
                Some(part) => assert!(got.len() == 1 && got[0].contains(part), "{why}: {got:?}"),
            }
        }
    }

    #[test]
    fn no_two_workspaces_share_a_file() {
        for (why, one, other, overlaps) in [
            ("siblings", "/ws/a", "/ws/b", false),
            ("a name that begins like another", "/ws/a", "/ws/a-b", false),
            ("the same place", "/ws/a", "/ws/a", true),
            ("one in the other", "/ws/a", "/ws/a/b", true),
            ("and the other way round", "/ws/a/b", "/ws/a", true),
        ] {
            assert_eq!(!faults(&[("main", one), ("coder", other)]).is_empty(), overlaps, "{why}");
        }
    }
}
