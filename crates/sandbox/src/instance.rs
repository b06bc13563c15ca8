//! One `PICOCLAW_HOME`: its directories, its workspaces, and what in it is Protected.
//!
//! Everything of an instance is Protected from an agent, but its own workspace.

use crate::isolate::{HiddenPath, HostFiles, LiveHost};
use crate::launch::Principal;
use crate::os_file::MountTable;
use crate::os_file::{Errno, create_private_dir, is_open_to_others, make_private};
use crate::printable::printable_path;
use crate::root::{Overwrite, ProtectedInodes, Root, RootError, WriteContext};
use picoclaw_policy::config::Config;
use picoclaw_policy::{Access, AgentId, CleanPath, Protected, Zones};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories that every instance has, below its root.
const DIRECTORIES: &[&str] =
    &["skills", "logs", "cache", "state", "state/locks", "state/sessions", "runtime-user-env", "ledger"];

/// Why an instance cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// A directory could not be created or read.
    #[error("could not {verb} `{}`", printable_path(path))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A path of the configuration is not absolute.
    #[error("`{}` is not an absolute path", printable_path(path))]
    Relative {
        /// The path.
        path: PathBuf,
    },
}

/// An agent's workspace, as configured and as it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Whose it is.
    pub agent: AgentId,
    /// As the configuration spells it.
    pub named: CleanPath,
    /// With its links resolved.
    pub real: CleanPath,
    /// Whether it is a project that was named at the start.
    pub in_project: bool,
}

impl Workspace {
    /// On whose behalf the agent's commands run: in a project, what they leave in their home is not
    /// run in another.
    pub(crate) fn principal(&self) -> Principal {
        match self.in_project {
            true => Principal::AgentIn(self.agent.clone(), self.real.as_path().to_owned()),
            false => Principal::Agent(self.agent.clone()),
        }
    }
}

/// The result of creating a file unless it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It was created.
    New,
    /// It existed already and was not changed.
    Existing,
}

impl Created {
    /// The result of a write that does not overwrite.
    pub(crate) fn from_write(result: Result<(), RootError>) -> Result<Self, RootError> {
        match result {
            Ok(()) => Ok(Self::New),
            Err(RootError::Exists { .. }) => Ok(Self::Existing),
            Err(why) => Err(why),
        }
    }
}

/// One instance, prepared.
#[derive(Debug, Clone)]
pub struct Instance {
    home: CleanPath,
    real_home: CleanPath,
    /// Files that are Protected wherever they lie: configuration and secrets.
    pinned: Vec<CleanPath>,
    workspaces: Vec<Workspace>,
}

impl Instance {
    /// Creates what is missing of the instance at `home`, and resolves its paths.
    pub fn prepare(home: &Path, config: &Config, pinned: &[PathBuf]) -> Result<Self, InstanceError> {
        let named = clean(home)?;
        create_private(named.as_path())?;
        for name in DIRECTORIES {
            create_private(&named.as_path().join(name))?;
        }
        let workspaces = config
            .agents
            .iter()
            .map(|agent| prepare_workspace(&named, &agent.id, config))
            .collect::<Result<_, _>>()?;
        let mut closed = Vec::new();
        for file in pinned {
            closed.push(clean(file)?);
            // A file that does not exist yet has no other name.
            closed.extend(fs::canonicalize(file).ok().and_then(|resolved| CleanPath::absolute(&resolved)));
        }
        let real_home = real(named.as_path())?;
        Ok(Self { real_home, home: named, pinned: closed, workspaces })
    }

    /// Whether an instance at `home` was ever used: it has an audit log. Directories alone are left
    /// by a start that failed.
    pub fn exists(home: &Path) -> bool {
        fs::read_dir(home.join("ledger")).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Creates a file of the instance, unless it exists.
    pub fn create_file(&self, name: &str, text: &str) -> Result<Created, RootError> {
        let context = WriteContext::new(&self.locks(), WriteContext::LOCK_TIMEOUT)?;
        let root = Root::open(self.home.as_path())?;
        let place = root.locate(Path::new(name), Access::Write, &ProtectedInodes::default())?;
        Created::from_write(place.write(text.as_bytes(), Overwrite::No, &context))
    }

    /// Replaces a file of the operator as a whole, readable by its owner alone; links to it stay.
    pub fn rewrite(&self, path: &Path, text: &str) -> Result<(), RootError> {
        let context = WriteContext::new(&self.locks(), WriteContext::LOCK_TIMEOUT)?;
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(RootError::NotAFile { path });
        };
        if is_open_to_others(&path) {
            // The new file gets the mode of the old one.
            make_private(&path).map_err(|source| {
                let errno = Errno::from_io_error(&source).unwrap_or(Errno::IO);
                RootError::from_errno("make private", &path, errno)
            })?;
        }
        let root = Root::open(directory)?;
        let place = root.locate(Path::new(name), Access::Write, &ProtectedInodes::default())?;
        place.write(text.as_bytes(), Overwrite::Yes, &context)
    }

    /// Where the locks of file tools are.
    pub fn locks(&self) -> PathBuf {
        self.join("state/locks")
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> PathBuf {
        self.join("ledger")
    }

    /// The instance's root, as it was named.
    pub fn home(&self) -> &Path {
        self.home.as_path()
    }

    /// A place below the instance's root.
    pub fn join(&self, below: &str) -> PathBuf {
        self.home.as_path().join(below)
    }

    /// Every agent's workspace.
    pub fn workspaces(&self) -> &[Workspace] {
        &self.workspaces
    }

    /// The zones of each agent.
    pub fn zones(&self) -> BTreeMap<AgentId, Zones> {
        self.workspaces.iter().map(|own| (own.agent.clone(), self.zones_of(own))).collect()
    }

    /// What no child may see: the instance, its configuration, every agent's workspace.
    pub(crate) fn covered(&self) -> Vec<HiddenPath> {
        let trees = self.workspaces.iter().flat_map(|own| [&own.named, &own.real]);
        self.hidden(trees.chain([&self.home, &self.real_home]).chain(&self.pinned))
    }

    /// What no child of this agent may see.
    pub(crate) fn covered_from(&self, own: &Workspace) -> Vec<HiddenPath> {
        self.hidden(self.zones_of(own).protected.trees.iter())
    }

    /// What no child may see that the operator lets read in these workspaces.
    pub(crate) fn covered_except(&self, open: &[&Workspace]) -> Vec<HiddenPath> {
        let closed = self.workspaces.iter().filter(|own| !open.iter().any(|open| open.agent == own.agent));
        let trees = closed.flat_map(|own| [&own.named, &own.real]);
        self.hidden(trees.chain([&self.home, &self.real_home]).chain(&self.pinned))
    }

    /// With links resolved, and under every name that a mount gives them, each once, in order;
    /// paths that do not exist are left out.
    fn hidden<'t>(&self, trees: impl Iterator<Item = &'t CleanPath>) -> Vec<HiddenPath> {
        let mounts = MountTable::read();
        let names = |tree: &CleanPath| {
            let Some(found) = LiveHost.find(tree.as_path()) else { return Vec::new() };
            let mut names = mounts.aliases(&found.resolved);
            // A workspace in the tree may be open; one that is not is among the trees itself.
            let is_workspaces = |part: &Path| {
                let own = self.workspaces.iter().map(|own| own.real.as_path());
                own.filter(|own| *own != found.resolved).any(|own| part.starts_with(own))
            };
            let parts = mounts.aliases_of_parts(&found.resolved).into_iter();
            names.extend(parts.filter(|(part, _)| !is_workspaces(part)).map(|(_, name)| name));
            names
        };
        let found = trees.flat_map(names).filter_map(|name| LiveHost.find(&name));
        let mut hidden: Vec<_> =
            found.map(|found| HiddenPath { path: found.resolved, kind: found.kind }).collect();
        hidden.sort_by(|one, other| one.path.cmp(&other.path));
        hidden.dedup_by(|one, other| one.path == other.path);
        hidden
    }

    /// Whether other users can enter the instance's directory, which holds secrets.
    pub fn is_open_to_others(&self) -> bool {
        is_open_to_others(self.home.as_path())
    }

    /// The zones of the agent of `own`.
    pub(crate) fn zones_of(&self, own: &Workspace) -> Zones {
        let mut trees = vec![self.home.clone(), self.real_home.clone()];
        trees.extend(self.pinned.iter().cloned());
        for other in self.workspaces.iter().filter(|other| other.agent != own.agent) {
            trees.extend([other.named.clone(), other.real.clone()]);
        }
        trees.sort();
        trees.dedup();
        let readable = [&self.home, &self.real_home]
            .into_iter()
            .filter_map(|home| CleanPath::absolute(&home.as_path().join("skills")))
            .collect();
        let mut workspace = vec![own.named.clone(), own.real.clone()];
        workspace.dedup();
        Zones { workspace, protected: Protected { trees, readable } }
    }
}

fn prepare_workspace(home: &CleanPath, agent: &AgentId, config: &Config) -> Result<Workspace, InstanceError> {
    let named = clean(&config.workspace_of(agent, home.as_path()))?;
    create_private(named.as_path())?;
    let in_project = config.agents.iter().any(|known| known.id == *agent && known.in_project);
    Ok(Workspace { agent: agent.clone(), real: real(named.as_path())?, named, in_project })
}

fn create_private(path: &Path) -> Result<(), InstanceError> {
    create_private_dir(path).map_err(fault("make the directory", path))
}

fn clean(path: &Path) -> Result<CleanPath, InstanceError> {
    CleanPath::absolute(path).ok_or_else(|| InstanceError::Relative { path: path.to_owned() })
}

fn real(path: &Path) -> Result<CleanPath, InstanceError> {
    clean(&fs::canonicalize(path).map_err(fault("resolve", path))?)
}

fn fault(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> InstanceError {
    move |source| InstanceError::Io { verb, path: path.to_owned(), source }
}
