//! What every command of an agent starts with: the shell, its environment, and what holds it.
//!
//! Invariant: decided once, at the start; no command's text changes any of it.

use super::quarters::Quarters;
use crate::guest::Lodge;
use crate::instance::Instance;
use crate::isolate::{
    Backend, Enforced, Grade, IsolateError, PlanError, StartError, select_backend, select_backend_cached,
};
use crate::launch::environment::{self, Variables};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Config, IsolationConfig};
use picoclaw_policy::shell::guard::Shell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Shells, in the order in which they are taken, with the arguments before the command.
const SHELLS: &[(&str, Shell, &[&str])] = &[
    ("/bin/bash", Shell::Bash, &["bash", "--noprofile", "--norc", "-c"]),
    ("/bin/sh", Shell::Posix, &["sh", "-c"]),
];

/// Variables that change what a shell makes of a text; the guard judged it without them.
const CHANGES_MEANING: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_XTRACEFD",
    "POSIXLY_CORRECT",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "PROMPT_COMMAND",
    "PS4",
    "OLDPWD",
    "IFS",
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

/// How a rung is picked.
type Pick<'p> = &'p dyn Fn(&IsolationConfig, &OsStr) -> Result<Backend, StartError>;

/// Shell, walls and environment for the commands of agents.
#[derive(Debug, Clone)]
pub struct Workshop {
    pub(super) program: PathBuf,
    pub(super) arguments: &'static [&'static str],
    shell: Shell,
    rung: Option<Backend>,
    quarters: BTreeMap<AgentId, Quarters>,
    lodge: Lodge,
}

impl Workshop {
    /// Finds the shell, and builds for each agent what the configuration asks for, or says why it cannot be had. A cage is
    /// tried before anybody needs it.
    pub fn new(
        config: &Config,
        instance: &Instance,
        host: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, WorkshopError> {
        Self::build(config, instance, host.into_iter().collect(), &select_backend)
    }

    /// The same for a program that lives for one call, which relies on a trial that passed before under the same
    /// circumstances.
    pub fn for_one_call(
        config: &Config,
        instance: &Instance,
        host: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, WorkshopError> {
        let state = instance.join("state");
        let remembered =
            |isolation: &IsolationConfig, path: &OsStr| select_backend_cached(isolation, path, &state);
        Self::build(config, instance, host.into_iter().collect(), &remembered)
    }

    fn build(
        config: &Config,
        instance: &Instance,
        host: Variables,
        pick: Pick<'_>,
    ) -> Result<Self, WorkshopError> {
        let (program, shell, arguments) =
            SHELLS.iter().find(|(path, ..)| is_program(Path::new(path))).ok_or(WorkshopError::NoShell)?;
        let plain = for_commands(host.iter().cloned(), &config.secrets);
        let rung = if config.isolation.enabled { Some(rung(config, &host, pick)?) } else { None };
        let mut quarters = BTreeMap::new();
        for own in instance.workspaces() {
            let mut built = match &rung {
                Some(rung) => Quarters::caged(own, config, instance, &host, rung)?,
                None if config.restrict_to_workspace && config.tools.exec.fence => {
                    Quarters::fenced(own, config, instance, plain.clone())?
                }
                None => Quarters::open(plain.clone()),
            };
            built.environment.retain(|(name, _)| !changes_meaning(name));
            quarters.insert(own.agent.clone(), built);
        }
        let lodge = Lodge::new(config, instance, host, rung.clone());
        Ok(Self { program: program.into(), arguments, shell: *shell, rung, quarters, lodge })
    }

    /// The shell that reads commands.
    pub fn shell(&self) -> Shell {
        self.shell
    }

    /// What holds a cage here, when there is one.
    pub fn rung(&self) -> Option<&Backend> {
        self.rung.as_ref()
    }

    /// What the kernel holds of an agent's commands.
    pub fn enforced(&self, agent: &AgentId) -> Option<&Enforced> {
        self.quarters.get(agent).map(|quarters| &quarters.enforced)
    }

    /// Where the operator's own programs are put up.
    pub fn lodge(&self) -> &Lodge {
        &self.lodge
    }

    /// Where an agent's commands live.
    pub(crate) fn quarters(&self, agent: &AgentId) -> Option<&Quarters> {
        self.quarters.get(agent)
    }
}

/// The host's environment without secrets, and without what changes the meaning of a text.
fn for_commands(host: impl IntoIterator<Item = (OsString, OsString)>, secrets: &[String]) -> Variables {
    let mut environment = environment::without_secrets(host, secrets);
    environment.retain(|(name, _)| !changes_meaning(name));
    environment
}

/// The rung that this host gives; each layer that it does not hold in full is one warning.
fn rung(config: &Config, host: &Variables, pick: Pick<'_>) -> Result<Backend, StartError> {
    let path =
        host.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    let rung = pick(&config.isolation, &path)?;
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

fn changes_meaning(name: &OsStr) -> bool {
    // Exported functions travel as `BASH_FUNC_name%%`, and would stand in for the commands that were judged.
    name.as_encoded_bytes().starts_with(b"BASH_FUNC_") || CHANGES_MEANING.iter().any(|known| name == *known)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_means_what_was_judged_whatever_the_host_exports() {
        let host = [
            ("PATH", "/usr/bin:rel:/bin"),
            ("BASH_ENV", "/tmp/x"),
            ("BASH_FUNC_ls%%", "() { rm -rf ~; }"),
            ("HOME", "/home/u"),
        ];
        let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let kept = for_commands(host, &[]);
        let names: Vec<_> = kept.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "HOME"]);
    }
}
