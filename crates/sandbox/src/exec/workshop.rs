//! What every command of an agent starts with: the shell, its environment, and what holds it.
//!
//! Invariant: decided once, at the start; no command's text changes any of it.

use super::quarters::Quarters;
use crate::confine::Settings;
use crate::instance::Instance;
use crate::isolate::{Backend, Enforced, Grade, IsolateError, PlanError, StartError, select_backend};
use crate::launch::environment::{self, Variables};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Config, IsolationConfig};
use picoclaw_policy::shell::Dialect as Shell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Shells, in the order in which they are taken, with the arguments before the command.
const SHELLS: &[(&str, Shell, &[&str])] = &[
    ("/bin/bash", Shell::Bash, &["bash", "--noprofile", "--norc", "-c"]),
    ("/bin/sh", Shell::Posix, &["sh", "-c"]),
];

/// Why no command can be run here.
#[derive(Debug, thiserror::Error)]
pub enum WorkshopError {
    /// Neither bash nor sh is where it should be.
    #[error("there is no `/bin/bash` and no `/bin/sh`")]
    NoShell,
    /// Isolation is enabled and cannot be had.
    #[error("{}\nhint: {}", .0, .0.hint())]
    Start(Box<StartError>),
    /// The cage cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The cage cannot be built.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    /// The directories of the redirected environment cannot be made.
    #[error("could not make the user environment `{}`", path.display())]
    UserEnvironment {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl From<StartError> for WorkshopError {
    /// Told whole, with its hint, and so not also as a cause.
    fn from(why: StartError) -> Self {
        Self::Start(Box::new(why))
    }
}

/// Shell, walls and environment for the commands of agents.
#[derive(Debug, Clone)]
pub struct Workshop {
    pub(super) program: PathBuf,
    pub(super) arguments: &'static [&'static str],
    shell: Shell,
    quarters: BTreeMap<AgentId, Quarters>,
    settings: Settings,
}

impl Workshop {
    /// Finds the shell, and builds for each agent what the configuration asks for, or says why it cannot be had. A cage is
    /// tried before anybody needs it.
    pub fn new(
        config: &Config,
        instance: &Instance,
        host: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, WorkshopError> {
        let (program, shell, arguments) =
            SHELLS.iter().find(|(path, ..)| is_program(Path::new(path))).ok_or(WorkshopError::NoShell)?;
        let host: Variables = host.into_iter().collect();
        let plain = environment::without_secrets(host.iter().cloned(), &config.secrets);
        let rung = if config.isolation.enabled { Some(rung(config, &host)?) } else { None };
        let mut quarters = BTreeMap::new();
        for own in instance.workspaces() {
            let built = match &rung {
                Some(rung) => Quarters::caged(own, config, instance, &host, rung)?,
                None if config.restrict_to_workspace && config.tools.exec.fence => {
                    Quarters::fenced(own, config, instance, plain.clone())?
                }
                None => Quarters::open(plain.clone()),
            };
            quarters.insert(own.agent.clone(), built);
        }
        let settings = Settings {
            isolation: config.isolation.clone(),
            secrets: config.secrets.clone(),
            instance: instance.clone(),
            host,
            rung,
        };
        Ok(Self { program: program.into(), arguments, shell: *shell, quarters, settings })
    }

    /// The shell that reads commands.
    pub fn shell(&self) -> Shell {
        self.shell
    }

    /// What holds a cage here, when there is one.
    pub fn rung(&self) -> Option<&Backend> {
        self.settings.rung.as_ref()
    }

    /// What the kernel holds of an agent's commands.
    pub fn enforced(&self, agent: &AgentId) -> Option<&Enforced> {
        self.quarters.get(agent).map(|quarters| &quarters.confined.enforced)
    }

    /// What confinements are made from.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where an agent's commands live.
    pub(crate) fn quarters(&self, agent: &AgentId) -> Option<&Quarters> {
        self.quarters.get(agent)
    }
}

/// The rung that this host gives; each layer that it does not hold in full is one warning.
fn rung(config: &Config, host: &Variables) -> Result<Backend, StartError> {
    let rung = select_backend(&config.isolation, environment::get(host, "PATH").unwrap_or_default())?;
    tell_losses(&rung, &config.isolation);
    Ok(rung)
}

/// Says what a rung does not hold in full: one warning a layer where namespaces are missing.
pub(super) fn tell_losses(rung: &Backend, isolation: &IsolationConfig) {
    for (_, layer, grade) in rung.enforced(isolation).layers() {
        match (rung, grade) {
            (_, Grade::Full) => {}
            (Backend::Landlock, grade) => {
                tracing::warn!(target: "isolation", layer, held = %grade, "Landlock alone holds less than a cage");
            }
            (_, grade) => tracing::info!(target: "isolation", layer, held = %grade, "Not held in full"),
        }
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
