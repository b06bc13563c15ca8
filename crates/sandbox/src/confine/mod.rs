//! Assembles what a child runs in: cage, fence or nothing, with the environment that goes with it.
//!
//! Commands of agents, commands of the operator, helpers and the doctor's checks all get their
//! confinement here.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::{PlannedCage, runtime_dir};
#[cfg(target_os = "macos")]
pub(crate) use macos::PlannedCage;
#[cfg(windows)]
pub(crate) use windows::PlannedCage;

use crate::instance::Instance;
use crate::isolate::{
    Backend, CacheMode, CommandSource, Confinement, Enforced, Fence, Grade, HiddenPath, UserEnvironment,
    WorkspaceMount,
};
use crate::launch::environment::{self, Variables};
use crate::launch::{
    Deadline, LaunchError, LaunchSpec, Output, OutputLimit, Principal, Stdin, Streams, WorkDir,
};
use crate::protect::{Protection, Watch};
use picoclaw_policy::config::{ExposeMode, IsolationConfig};
use picoclaw_policy::network::AllowedHosts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The working directory of a child that the operator starts.
#[derive(Debug, Clone, Copy)]
pub enum ChildDir<'d> {
    /// The child's private home, where no agent can write.
    Private,
    /// A directory that the operator named.
    Path {
        /// The directory.
        path: &'d Path,
        /// Whether the child may write there.
        mode: ExposeMode,
    },
    /// A directory in a project of the operator's.
    Project {
        /// The directory.
        path: &'d Path,
        /// The project's root, which the child may write.
        root: &'d Path,
    },
}

impl ChildDir<'_> {
    /// The directory of a child with this user environment.
    pub(crate) fn resolve(&self, user: &UserEnvironment) -> PathBuf {
        match self {
            Self::Private => user.path().join("home"),
            Self::Path { path, .. } | Self::Project { path, .. } => (*path).to_owned(),
        }
    }

    /// What the child sees as its workspace.
    #[cfg_attr(target_os = "macos", expect(dead_code, reason = "there is no cage"))]
    fn workspace(&self) -> Option<WorkspaceMount> {
        let (path, mode) = match *self {
            Self::Private => return None,
            Self::Path { path, mode } => (path, mode),
            Self::Project { root, .. } => (root, ExposeMode::ReadWrite),
        };
        Some(WorkspaceMount { path: path.to_owned(), mode })
    }
}

/// What the confinements of all children of one program start have in common.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) isolation: IsolationConfig,
    /// Values that no child may find in its environment.
    pub(crate) secrets: Vec<String>,
    pub(crate) instance: Instance,
    /// The operator's own environment.
    pub(crate) host: Variables,
    /// The backend of cages; `None` while isolation is off.
    pub(crate) backend: Option<Backend>,
}

/// Everything that a cage and its environment follow from, but the backend.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "mounts are Linux's"))]
pub(crate) struct CageRequest<'r> {
    pub(crate) isolation: &'r IsolationConfig,
    pub(crate) instance: &'r Instance,
    /// The child's own part of the instance; its directories exist.
    pub(crate) user: &'r UserEnvironment,
    pub(crate) dir: ChildDir<'r>,
    pub(crate) source: CommandSource<'r>,
    /// What the child may not see.
    pub(crate) protected: Vec<HiddenPath>,
    /// The operator's own environment.
    pub(crate) host: &'r Variables,
    /// More private directories, besides `/run/user/UID`.
    pub(crate) private: Vec<PathBuf>,
    /// The caches of package managers.
    pub(crate) cache: CacheMode,
}

/// A confinement, the environment of a child in it, and what the kernel enforces of it.
#[derive(Debug, Clone)]
pub(crate) struct Confined {
    pub(crate) confinement: Confinement,
    pub(crate) environment: Variables,
    pub(crate) enforced: Enforced,
    pub(crate) protection: Protection,
}

impl Confined {
    /// Nothing but the user's own rights.
    pub(crate) fn none(environment: Variables, protection: Protection) -> Self {
        let off = || Grade::None("isolation is off".to_owned());
        let enforced =
            Enforced { filesystem: off(), network: off(), processes: off(), syscalls: off(), limits: off() };
        Self { confinement: Confinement::None, environment, enforced, protection }
    }

    /// The hosts that its children reach by name.
    pub(crate) fn hosts(&self) -> Option<&Arc<AllowedHosts>> {
        match &self.confinement {
            Confinement::Cage(cage) => cage.plan().network.hosts(),
            Confinement::Fence(_) | Confinement::None => None,
        }
    }

    /// The write fence.
    pub(crate) fn fenced(fence: Fence, environment: Variables, protection: Protection) -> Self {
        let enforced = fence.enforced();
        Self { confinement: Confinement::Fence(Arc::new(fence)), environment, enforced, protection }
    }

    /// What is enforced, as the ledger names it.
    pub(crate) fn layers(&self) -> Vec<String> {
        self.enforced.words().map(|(name, word)| format!("{name} {word}")).to_vec()
    }

    /// A child in this confinement, without input and without a deadline, and the watch over the
    /// protected files of its workspace.
    pub(crate) fn spec(
        &self,
        program: PathBuf,
        argv: Vec<OsString>,
        work_dir: WorkDir,
        principal: Principal,
    ) -> Result<(LaunchSpec, Watch), LaunchError> {
        let mut environment = self.environment.clone();
        environment::set_work_dir(&mut environment, &work_dir.path);
        let mut watch = self.protection.watch();
        watch.check_roots().map_err(LaunchError::confinement)?;
        let protected = if self.confinement.has_mounts() { watch.mounts() } else { Vec::new() };
        let setup = self.confinement.child_setup(work_dir, protected).map_err(LaunchError::confinement)?;
        let spec = LaunchSpec {
            program,
            argv,
            environment,
            streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
            deadline: Deadline::None,
            output_limit: OutputLimit::default(),
            principal,
            setup,
        };
        Ok((spec, watch))
    }
}

/// The operator's own home, where toolchains and git's configuration are looked for.
pub(crate) fn operator_home(host: &Variables) -> PathBuf {
    let home = environment::get(host, "HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute()).or_else(std::env::home_dir).unwrap_or_else(|| PathBuf::from("/"))
}
