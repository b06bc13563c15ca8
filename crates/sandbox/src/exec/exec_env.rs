//! What every command of an agent starts with: the shell, and each agent's confinement and
//! environment.
//!
//! It is built once, at the start; the text of a command changes none of it.

use super::agent_env::AgentEnv;
use crate::confine::Settings;
use crate::file_lock::FileLock;
use crate::instance::Instance;
use crate::isolate::{Backend, Enforced, IsolateError, PlanError, StartError, select_backend};
use crate::launch::environment::{self, Variables};
use crate::launch::{self, Principal, Shell, is_program};
use crate::printable::printable_path;
use crate::project_envs::ProjectEnvs;
use crate::state_dir::StateError;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Config, IsolationConfig, Network};
use picoclaw_policy::shell::Dialect;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why no command can be run.
#[derive(Debug, thiserror::Error)]
pub enum ExecEnvError {
    /// There is neither bash nor sh; on Windows, no PowerShell.
    #[error("there is no {}", launch::SHELL_NAMES)]
    NoShell,
    /// Isolation is enabled and not available.
    #[error("{}\nhint: {}", .0, .0.hint())]
    Start(Box<StartError>),
    /// The cage cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The cage cannot be built.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    /// The copy of the git configuration cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
    /// The directories of the redirected environment cannot be created.
    #[error("could not make the user environment `{}`", printable_path(path))]
    UserEnvironment {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl From<StartError> for ExecEnvError {
    /// The message contains the cause and its hint, so there is no `source`.
    fn from(why: StartError) -> Self {
        Self::Start(Box::new(why))
    }
}

/// The shell, and the confinement and environment of each agent's commands.
#[derive(Debug, Clone)]
pub struct ExecEnv {
    pub(super) program: PathBuf,
    pub(super) arguments: &'static [&'static str],
    shell: Dialect,
    agents: BTreeMap<AgentId, AgentEnv>,
    principals: BTreeMap<AgentId, Principal>,
    /// Keep the user environments of projects from being removed.
    _in_use: Vec<Arc<FileLock>>,
    settings: Settings,
}

impl ExecEnv {
    /// Finds the shell and assembles each agent's confinement as configured. The backend of cages
    /// is tried with a real child before the first command needs it.
    pub fn new(
        config: &Config,
        instance: &Instance,
        host: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ExecEnvError> {
        let host: Variables = host.into_iter().collect();
        let shells = launch::shells(&host);
        let Shell { program, dialect, arguments } =
            shells.into_iter().find(|shell| is_program(&shell.program)).ok_or(ExecEnvError::NoShell)?;
        let plain = environment::without_secrets(host.iter().cloned(), &config.secrets);
        let backend = if config.isolation.enabled { Some(select_backend_for(config, &host)?) } else { None };
        let (mut agents, mut principals, mut in_use) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for own in instance.workspaces() {
            if own.in_project {
                let envs = ProjectEnvs::open(instance.home())?;
                in_use.push(Arc::new(envs.enter(&own.principal(), own.real.as_path())?));
            }
            let env = match &backend {
                Some(backend) => AgentEnv::caged(own, config, instance, &host, backend)?,
                None => AgentEnv::without_cage(own, config, instance, plain.clone())?,
            };
            agents.insert(own.agent.clone(), env);
            principals.insert(own.agent.clone(), own.principal());
        }
        let settings = Settings {
            isolation: config.isolation.clone(),
            secrets: config.secrets.clone(),
            instance: instance.clone(),
            host,
            backend,
        };
        Ok(Self { program, arguments, shell: dialect, agents, principals, _in_use: in_use, settings })
    }

    /// The dialect of the shell that runs commands.
    pub fn shell(&self) -> Dialect {
        self.shell
    }

    /// The backend of cages; `None` while isolation is off.
    pub fn backend(&self) -> Option<&Backend> {
        self.settings.backend.as_ref()
    }

    /// What the kernel enforces on an agent's commands.
    pub fn enforced(&self, agent: &AgentId) -> Option<&Enforced> {
        self.agents.get(agent).map(|env| &env.confined.enforced)
    }

    /// Whether the kernel keeps the commands of every agent from reading the instance's own files.
    pub fn hides_instance(&self) -> bool {
        self.agents.values().all(AgentEnv::hides_instance)
    }

    /// What confinements are assembled from.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// On whose behalf an agent's commands run.
    pub(crate) fn principal(&self, agent: &AgentId) -> Principal {
        self.principals.get(agent).cloned().unwrap_or_else(|| Principal::Agent(agent.clone()))
    }

    /// The environment of an agent's commands.
    pub(crate) fn agent(&self, agent: &AgentId) -> Option<&AgentEnv> {
        self.agents.get(agent)
    }
}

fn select_backend_for(config: &Config, host: &Variables) -> Result<Backend, StartError> {
    let backend = select_backend(&config.isolation, environment::get(host, "PATH").unwrap_or_default())?;
    log_unenforced(&backend, &config.isolation);
    Ok(backend)
}

/// Logs the layers that a backend does not enforce in full, as a warning where namespaces are
/// missing.
pub(super) fn log_unenforced(backend: &Backend, isolation: &IsolationConfig) {
    if *backend == Backend::Landlock && isolation.network == Network::None {
        tracing::warn!(target: "isolation", "The network is closed by refusing sockets; there is no loopback");
    }
    let enforced = backend.enforced(isolation);
    let layers = enforced.layers();
    let less = layers.iter().filter(|(_, _, grade)| !grade.is_held());
    let less: Vec<String> = less.map(|(_, layer, grade)| format!("{layer} {grade}")).collect();
    let less = less.join("; ");
    match backend {
        _ if less.is_empty() => {}
        Backend::Landlock => {
            tracing::warn!(target: "isolation", layers = less, "Landlock alone holds less than a cage; `picoclaw doctor` says why there is none");
        }
        Backend::NativeHostProc => {
            tracing::warn!(target: "isolation", layers = less, "Commands see the names and command lines of other processes");
        }
        Backend::RestrictedToken => {
            tracing::warn!(target: "isolation", layers = less, "A restricted token holds less than a cage");
        }
        _ => tracing::debug!(target: "isolation", layers = less, "Not held in full"),
    }
}
