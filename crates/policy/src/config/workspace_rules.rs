//! Where a workspace may be.
//!
//! A workspace must contain nothing that decides what its agent may do, and nothing of another
//! agent. Paths must be canonical, so that no link hides an overlap.

use crate::subject::AgentId;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Directories of an instance that are closed to agents.
const RESERVED: &[&str] = &["ledger", "state", "logs", "cache", "skills", "runtime-user-env"];

/// System directories that are no workspace themselves. What lies in them may be one:
/// `/tmp/project`.
const SYSTEM: &[&str] =
    &["/usr", "/var", "/run", "/opt", "/srv", "/home", "/tmp", "/var/tmp", "/run/media", "/run/user"];

/// System directories in which nothing is a workspace. On hosts with a merged `/usr` the short
/// names are links into it.
const SYSTEM_TREES: &[&str] =
    &["/etc", "/dev", "/proc", "/sys", "/boot", "/bin", "/sbin", "/usr/bin", "/usr/sbin"];

/// The usual ones of `/lib*` and `/usr/lib*`, which are such trees too.
const LIBRARIES: &[&str] = &["/lib", "/lib32", "/lib64", "/libx32", "/usr/lib"];

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
    /// A system directory.
    #[error("the workspace of `{agent}`, `{workspace}`, is the system directory `{directory}`")]
    System {
        /// The agent.
        agent: AgentId,
        /// The workspace.
        workspace: PathBuf,
        /// The system directory.
        directory: PathBuf,
    },
    /// Beneath a system directory.
    #[error("the workspace of `{agent}`, `{workspace}`, lies in the system directory `{directory}`")]
    InSystem {
        /// The agent.
        agent: AgentId,
        /// The workspace.
        workspace: PathBuf,
        /// The system directory.
        directory: PathBuf,
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

/// One agent's workspace.
#[derive(Debug, Clone)]
pub struct WorkspacePlace {
    /// The agent.
    pub agent: AgentId,
    /// The directory as the operator named it, for messages.
    pub named: PathBuf,
    /// Its canonical paths: several if it is bind-mounted, or spelled in another case on a file
    /// system that ignores case.
    pub paths: Vec<PathBuf>,
}

/// Every fault of a set of workspaces.
pub fn check_workspaces(workspaces: &[WorkspacePlace], grounds: &ReservedPaths<'_>) -> Vec<WorkspaceFault> {
    let alone =
        workspaces.iter().filter_map(|place| place.paths.iter().find_map(|path| alone(place, path, grounds)));
    let pairs = workspaces
        .iter()
        .enumerate()
        .flat_map(|(index, one)| workspaces[index + 1..].iter().filter_map(move |other| overlap(one, other)));
    alone.chain(pairs).collect()
}

/// The system directories that [`system_directory`] knows by name.
pub fn system_directories() -> impl Iterator<Item = &'static Path> {
    SYSTEM.iter().chain(SYSTEM_TREES).chain(LIBRARIES).map(Path::new)
}

/// The system directory that `path` is or lies in, if a workspace there would hold more than a
/// project. `path` is canonical.
pub fn system_directory(path: &Path) -> Option<&Path> {
    let is_tree = |above: &Path| {
        let is_library = |name: &OsStr| name.as_encoded_bytes().starts_with(b"lib");
        let beside =
            above.parent().is_some_and(|parent| parent == Path::new("/") || parent == Path::new("/usr"));
        SYSTEM_TREES.iter().any(|tree| above == Path::new(tree))
            || (beside && above.file_name().is_some_and(is_library))
    };
    if let Some(tree) = path.ancestors().find(|above| is_tree(above)) {
        return Some(tree);
    }
    let is_itself = SYSTEM.iter().any(|directory| path == Path::new(directory));
    // `/run/user/1000` is a user's runtime directory; projects lie in it.
    let is_runtime = path.parent() == Some(Path::new("/run/user"));
    let is_in_run =
        path.starts_with("/run") && !path.starts_with("/run/media") && !path.starts_with("/run/user");
    match (is_itself || is_runtime, is_in_run) {
        (true, _) => Some(path),
        (false, true) => Some(Path::new("/run")),
        (false, false) => None,
    }
}

fn alone(place: &WorkspacePlace, workspace: &Path, grounds: &ReservedPaths<'_>) -> Option<WorkspaceFault> {
    let whose = || (place.agent.clone(), place.named.clone());
    if workspace.parent().is_none() {
        return Some(WorkspaceFault::Root { agent: place.agent.clone() });
    }
    if let Some(directory) = system_directory(workspace).map(Path::to_owned) {
        let is_itself = directory == workspace;
        let (agent, workspace) = whose();
        return Some(if is_itself {
            WorkspaceFault::System { agent, workspace, directory }
        } else {
            WorkspaceFault::InSystem { agent, workspace, directory }
        });
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

fn overlap(one: &WorkspacePlace, other: &WorkspacePlace) -> Option<WorkspaceFault> {
    let overlap = |first: &PathBuf, second: &PathBuf| first.starts_with(second) || second.starts_with(first);
    let shared = one.paths.iter().any(|first| other.paths.iter().any(|second| overlap(first, second)));
    shared.then(|| WorkspaceFault::Overlap {
        one: one.agent.clone(),
        other: other.agent.clone(),
        first: one.named.clone(),
        second: other.named.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(workspaces: &[(&str, &str)]) -> Vec<String> {
        let workspaces: Vec<_> = workspaces
            .iter()
            .map(|(agent, paths)| {
                let paths: Vec<_> = paths.split(" = ").map(PathBuf::from).collect();
                WorkspacePlace { agent: AgentId::parse(agent).unwrap(), named: paths[0].clone(), paths }
            })
            .collect();
        let grounds = ReservedPaths {
            instance: Path::new("/home/user/.picoclaw"),
            homes: &[PathBuf::from("/home/user"), PathBuf::from("/root"), PathBuf::from("/")],
            files: &[
                PathBuf::from("/data/picoclaw/config.json"),
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
            ("all home directories", "/home", Some("is the system directory `/home`")),
            ("the instance itself", "/home/user/.picoclaw", Some("holds the instance")),
            ("the ledger", "/home/user/.picoclaw/ledger", Some("keeps for itself")),
            ("below the state", "/home/user/.picoclaw/state/x", Some("keeps for itself")),
            ("beside the configuration", "/data/picoclaw", Some("holds `/data/picoclaw/config.json`")),
            ("under another name", "/mnt/home = /root", Some("holds the home directory `/root`")),
            ("and beneath it", "/mnt/etc/x = /etc/x", Some("lies in the system directory `/etc`")),
            ("all of the host again", "/mnt/all = /", Some("is `/`")),
            ("another name that is as good", "/mnt/project = /data/project", None),
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
            ("the same directory by another name", "/ws/a", "/mnt/a/b = /ws/a/b", true),
            ("both by another name", "/m/a = /ws/a", "/n/a = /ws/a", true),
        ] {
            assert_eq!(!faults(&[("main", one), ("coder", other)]).is_empty(), overlaps, "{why}");
        }
    }

    #[test]
    fn a_system_directory_is_no_workspace() {
        for (path, want) in [
            ("/etc", Some("/etc")),
            ("/etc/ssl/certs", Some("/etc")),
            ("/usr", Some("/usr")),
            ("/usr/local/src/project", None),
            ("/usr/lib", Some("/usr/lib")),
            ("/usr/lib/python3/x", Some("/usr/lib")),
            ("/usr/libexec/x", Some("/usr/libexec")),
            ("/usr/bin", Some("/usr/bin")),
            ("/lib/modules", Some("/lib")),
            ("/libx32", Some("/libx32")),
            ("/home/user/lib/x", None),
            ("/var", Some("/var")),
            ("/var/tmp", Some("/var/tmp")),
            ("/var/tmp/project", None),
            ("/var/lib/picoclaw/workspace", None),
            ("/tmp", Some("/tmp")),
            ("/tmp/project", None),
            ("/dev/shm/project", Some("/dev")),
            ("/proc/self", Some("/proc")),
            ("/sys/kernel", Some("/sys")),
            ("/boot/grub", Some("/boot")),
            ("/sbin/x", Some("/sbin")),
            ("/opt", Some("/opt")),
            ("/opt/project", None),
            ("/srv", Some("/srv")),
            ("/srv/project", None),
            ("/run", Some("/run")),
            ("/run/lock/x", Some("/run")),
            ("/run/user", Some("/run/user")),
            ("/run/user/1000", Some("/run/user/1000")),
            ("/run/user/1000/project", None),
            ("/run/media", Some("/run/media")),
            ("/run/media/user/disk", None),
            ("/running/project", None),
            ("/etcetera", None),
        ] {
            assert_eq!(system_directory(Path::new(path)), want.map(Path::new), "{path}");
        }
    }
}
