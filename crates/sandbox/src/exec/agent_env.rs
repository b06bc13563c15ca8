//! The confinement and environment of one agent's commands.
//!
//! A cage that is configured and not available is an error; there is no silent fallback.

use super::exec_env::ExecEnvError;
use crate::confine::{CageRequest, ChildDir, Confined, PlannedCage};
use crate::instance::{Instance, Workspace};
use crate::isolate::{self, Backend, CommandSource, Fence, Grade, UserEnvironment};
use crate::launch::Principal;
use crate::launch::environment::{self, Variables};
use crate::protect::Protection;
use picoclaw_policy::config::{Config, ExposeMode};
use picoclaw_policy::shell::guard::Confinement;
use picoclaw_policy::{CleanPath, literal_directory};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Variables that change what a shell makes of a command. The guard judges commands without them.
const SHELL_VARIABLES: &[&str] = &[
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

/// The confinement and environment of one agent's commands, and what the guard has to know of them.
#[derive(Debug, Clone)]
pub(crate) struct AgentEnv {
    pub(crate) confined: Confined,
    pub(crate) confinement: Confinement,
    pub(crate) home: Option<CleanPath>,
    /// The directories of `PATH`.
    pub(crate) path: Vec<CleanPath>,
}

impl AgentEnv {
    /// In a cage of this backend.
    pub(super) fn caged(
        own: &Workspace,
        config: &Config,
        instance: &Instance,
        host: &Variables,
        backend: &Backend,
    ) -> Result<Self, ExecEnvError> {
        let user = user_environment(own, instance)?;
        let planned = PlannedCage::new(CageRequest {
            isolation: &config.isolation,
            instance,
            user: &user,
            dir: ChildDir::Path { path: own.named.as_path(), mode: ExposeMode::ReadWrite },
            source: CommandSource::Model,
            protected: instance.covered_from(own),
            host,
        })?;
        for rule in planned.lines() {
            tracing::info!(target: "isolation", agent = %own.agent, rule, "linux isolation mount plan");
        }
        Ok(Self::new(planned.build(backend)?))
    }

    /// Behind the write fence, while isolation is off.
    pub(super) fn fenced(
        own: &Workspace,
        config: &Config,
        instance: &Instance,
        host: Variables,
    ) -> Result<Self, ExecEnvError> {
        let user = user_environment(own, instance)?;
        let temp = user.path().join("tmp");
        let literal = config.tools.allow_write_paths.iter().filter_map(|pattern| literal_directory(pattern));
        let mut writable = vec![own.real.as_path().to_owned(), temp.clone(), "/dev/shm".into()];
        writable.extend(temporary_dirs(&host));
        writable.extend(literal);
        let protected: Vec<PathBuf> =
            instance.zones_of(own).protected.trees.iter().map(|tree| tree.as_path().to_owned()).collect();
        let fence = Fence::new(&writable, &protected);
        let mut environment = host;
        if fence.left_out().iter().any(|left_out| temporary_dirs(&environment).contains(left_out)) {
            // The shared temporary directory contains something Protected: use the private one.
            environment::set(&mut environment, "TMPDIR", temp.as_os_str());
        }
        let protection = Protection::of_workspace(own.real.as_path(), &config.isolation.protect);
        Ok(Self::new(Confined::fenced(fence, environment, protection)))
    }

    /// With nothing but the user's own rights.
    pub(super) fn unconfined(environment: Variables, protection: Protection) -> Self {
        Self::new(Confined::none(environment, protection))
    }

    /// Whether the kernel keeps the agent's commands from reading the instance's own files.
    pub(super) fn hides_instance(&self) -> bool {
        match &self.confined.confinement {
            isolate::Confinement::Cage(_) => true,
            // The fence holds writes only.
            isolate::Confinement::Fence(_) | isolate::Confinement::None => false,
        }
    }

    fn new(mut confined: Confined) -> Self {
        confined.environment.retain(|(name, _)| !is_shell_variable(name));
        let confinement = match (&confined.confinement, &confined.enforced.filesystem) {
            (isolate::Confinement::Cage(_), _) => Confinement::Cage,
            (isolate::Confinement::Fence(_), Grade::Full | Grade::Partial(_)) => Confinement::Fence,
            (isolate::Confinement::Fence(_), Grade::None(_)) | (isolate::Confinement::None, _) => {
                Confinement::Nothing
            }
        };
        let value = |name| environment::get(&confined.environment, name);
        let home = value("HOME").and_then(|home| CleanPath::absolute(Path::new(home)));
        let path = std::env::split_paths(value("PATH").unwrap_or_default());
        let path = path.filter_map(|dir| CleanPath::absolute(&dir)).collect();
        Self { confined, confinement, home, path }
    }
}

fn user_environment(own: &Workspace, instance: &Instance) -> Result<UserEnvironment, ExecEnvError> {
    let user = UserEnvironment::of(instance.home(), &Principal::Agent(own.agent.clone()));
    user.prepare().map_err(|errno| ExecEnvError::UserEnvironment {
        path: user.path().to_owned(),
        source: errno.into(),
    })?;
    Ok(user)
}

/// The temporary directories that commands use.
fn temporary_dirs(environment: &Variables) -> Vec<PathBuf> {
    let mut dirs = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    dirs.extend(environment::get(environment, "TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute()));
    dirs
}

fn is_shell_variable(name: &OsStr) -> bool {
    // Exported functions are named `BASH_FUNC_name%%`, and would replace the commands that were
    // judged.
    name.as_encoded_bytes().starts_with(b"BASH_FUNC_") || SHELL_VARIABLES.iter().any(|known| name == *known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn a_command_means_what_was_judged_whatever_the_host_exports() {
        let host = [
            ("PATH", "/usr/bin:rel:/bin"),
            ("BASH_ENV", "/tmp/x"),
            ("BASH_FUNC_ls%%", "() { rm -rf ~; }"),
            ("HOME", "/home/u"),
        ];
        let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let kept = AgentEnv::unconfined(host.into(), Protection::none()).confined.environment;
        let names: Vec<_> = kept.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "HOME"]);
    }
}
