//! The confinement and environment of one agent's commands.
//!
//! A cage that is configured and not available is an error; there is no silent fallback.

use super::exec_env::ExecEnvError;
use super::fence_paths;
use crate::agent_writable::AgentWritable;
use crate::confine::{CageRequest, ChildDir, Confined, PlannedCage, operator_home};
use crate::instance::{Instance, Workspace};
use crate::isolate::{
    self, Backend, CacheMode, CommandSource, Enforced, Fence, Grade, HostFiles, LiveHost, PassedGitConfig,
    UserEnvironment,
};
use crate::launch::environment::{self, Variables};
use crate::protect::Protection;
use crate::state_dir::StateDir;
use picoclaw_policy::config::{Config, ExposeMode, FenceMode, IsolationConfig, Limits, Network};
use picoclaw_policy::shell::guard::Confinement;
use picoclaw_policy::{CleanPath, LiteralPath, PathRules, literal_path};
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
    /// The user environment, as named and with links resolved, where the kernel holds commands to
    /// it.
    pub(crate) own: Vec<CleanPath>,
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
            private: Vec::new(),
            cache: CacheMode::Private,
        })?;
        if tracing::enabled!(target: "isolation", tracing::Level::DEBUG) {
            for rule in planned.lines() {
                tracing::debug!(target: "isolation", agent = %own.agent, rule, "{}", isolate::PLAN_LOG_ENTRY);
            }
        }
        Ok(Self::new(planned.build(backend)?).owning(&user))
    }

    /// While isolation is off: behind the fence that is configured, if files are restricted at all.
    pub(super) fn without_cage(
        own: &Workspace,
        config: &Config,
        instance: &Instance,
        host: Variables,
    ) -> Result<Self, ExecEnvError> {
        let fence = if config.restrict_to_workspace { config.tools.exec.fence } else { FenceMode::Off };
        match fence {
            FenceMode::Off => {
                let (tree, home) = (own.real.as_path(), operator_home(&host));
                let protection = Protection::of_workspace(tree, &config.isolation.protect, &home);
                Ok(Self::unconfined(host, protection))
            }
            FenceMode::Full if Fence::is_available() => Self::fenced(own, config, instance, host),
            FenceMode::Full | FenceMode::Writes => Self::write_fenced(own, config, instance, host),
        }
    }

    /// Behind the full fence: the Landlock backend with the view of a cage, in the user's own HOME.
    fn fenced(
        own: &Workspace,
        config: &Config,
        instance: &Instance,
        host: Variables,
    ) -> Result<Self, ExecEnvError> {
        let user = user_environment(own, instance)?;
        let protected = instance.covered_from(own);
        let is_protected = |path: &Path| {
            protected.iter().any(|hidden| hidden.path.starts_with(path) || path.starts_with(&hidden.path))
        };
        let planted = agent_writable(config, instance);
        let opened = |patterns| fence_paths::opened(patterns, is_protected, |link| planted.contains(link));
        let (readable, mut ignored) = opened(&config.tools.allow_read_paths);
        let (writable, ignored_writes) = opened(&config.tools.allow_write_paths);
        ignored.extend(ignored_writes);
        for pattern in ignored {
            tracing::warn!(target: "isolation", agent = %own.agent, pattern, "This pattern opens nothing to commands behind the fence");
        }
        let isolation = IsolationConfig {
            expose_paths: Vec::new(),
            network: Network::Host,
            limits: Limits::NONE,
            ..config.isolation.clone()
        };
        let mut planned = PlannedCage::new(CageRequest {
            isolation: &isolation,
            instance,
            user: &user,
            dir: ChildDir::Path { path: own.named.as_path(), mode: ExposeMode::ReadWrite },
            source: CommandSource::Model,
            protected: protected.clone(),
            host: &host,
            private: Vec::new(),
            cache: CacheMode::Private,
        })?;
        let git_files = write_git_config(instance, &host)?;
        // A directory that cannot be read hides the programs of the directories behind it.
        let path = environment::get(&host, "PATH").unwrap_or_default().to_owned();
        let path = std::env::join_paths(std::env::split_paths(&path).filter(|dir| planned.shows(dir)));
        let shown = readable.into_iter().chain(git_files.clone()).map(|path| (path, ExposeMode::ReadOnly));
        for (path, mode) in shown.chain(writable.into_iter().map(|path| (path, ExposeMode::ReadWrite))) {
            planned.show(path, mode);
        }
        let mut confined = planned.build(&Backend::Landlock)?;
        confined.environment = fence_environment(host, &confined.environment, &git_files[0]);
        environment::set(&mut confined.environment, "PATH", path.unwrap_or_default());
        confined.enforced = fence_enforced(confined.enforced);
        Ok(Self { confinement: Confinement::Cage, ..Self::new(confined).owning(&user) })
    }

    /// Behind the write fence.
    fn write_fenced(
        own: &Workspace,
        config: &Config,
        instance: &Instance,
        host: Variables,
    ) -> Result<Self, ExecEnvError> {
        let user = user_environment(own, instance)?;
        let temp = user.path().join("tmp");
        let planted = agent_writable(config, instance);
        let literal =
            config.tools.allow_write_paths.iter().filter_map(|pattern| match literal_path(pattern)? {
                LiteralPath::Directory(path) => Some(path),
                LiteralPath::Exact(_) => None,
            });
        let literal = literal.filter(|path| !LiveHost.links(path).iter().any(|link| planted.contains(link)));
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
        let home = operator_home(&environment);
        let protection = Protection::of_workspace(own.real.as_path(), &config.isolation.protect, &home);
        Ok(Self::new(Confined::fenced(fence, environment, protection)))
    }

    /// With nothing but the user's own rights.
    pub(super) fn unconfined(environment: Variables, protection: Protection) -> Self {
        Self::new(Confined::none(environment, protection))
    }

    /// Whether the kernel keeps the agent's commands from reading the instance's own files.
    pub(super) fn hides_instance(&self) -> bool {
        self.confined.confinement.hides_files()
    }

    fn new(mut confined: Confined) -> Self {
        confined.environment.retain(|(name, _)| !is_shell_variable(name));
        let confinement = match (&confined.confinement, &confined.enforced.filesystem) {
            (isolate::Confinement::Cage(cage), _) if cage.hides_files() => Confinement::Cage,
            (isolate::Confinement::Fence(_), Grade::Full | Grade::Partial(_)) => Confinement::Fence,
            (
                isolate::Confinement::Cage(_) | isolate::Confinement::Fence(_) | isolate::Confinement::None,
                _,
            ) => Confinement::Nothing,
        };
        let value = |name| environment::get(&confined.environment, name);
        let home = value("HOME").and_then(|home| CleanPath::absolute(Path::new(home)));
        let path = std::env::split_paths(value("PATH").unwrap_or_default());
        let path = path.filter_map(|dir| CleanPath::absolute(&dir)).collect();
        Self { confined, confinement, home, own: Vec::new(), path }
    }

    /// With a user environment that is writable.
    fn owning(self, user: &UserEnvironment) -> Self {
        let named = user.path().to_owned();
        let real = named.canonicalize().ok().filter(|real| *real != named);
        let own = std::iter::once(named).chain(real).filter_map(|path| CleanPath::absolute(&path)).collect();
        Self { own, ..self }
    }
}

/// The user's environment behind the full fence: HOME keeps its name, while temporary files, caches
/// and settings are private.
fn fence_environment(mut host: Variables, cage: &Variables, git_config: &Path) -> Variables {
    for (name, value) in cage {
        let is_private = !["HOME", "PATH"].iter().any(|kept| name == kept);
        if is_private {
            environment::set(&mut host, name, value);
        }
    }
    environment::set(&mut host, "GIT_CONFIG_GLOBAL", git_config);
    host
}

/// Writes the copy of the user's git configuration that commands behind the fence read, where no
/// command can write, and what git ignores. Agents share it, so it is no workspace's own.
fn write_git_config(instance: &Instance, host: &Variables) -> Result<[PathBuf; 2], ExecEnvError> {
    let git = PassedGitConfig::of(&operator_home(host), instance.home());
    let directory = StateDir::open(&instance.join("runtime-user-env"), "git")?;
    let ignored = directory.ensure("ignore", git.ignored.as_bytes())?;
    let config = directory.ensure("config", git.config_with_ignored(&ignored).as_bytes())?;
    Ok([config, ignored])
}

/// What the full fence holds, of what the Landlock backend holds.
fn fence_enforced(landlock: Enforced) -> Enforced {
    let off = || Grade::None("isolation is off".to_owned());
    Enforced { network: off(), limits: off(), ..landlock }
}

/// Where a link may be one that a command has put there.
fn agent_writable(config: &Config, instance: &Instance) -> AgentWritable {
    // The patterns were compiled when the configuration was read.
    let rules = PathRules::compile(&config.tools.allow_write_paths).unwrap_or_default();
    AgentWritable::of_instance(instance, &config.isolation, rules)
}

fn user_environment(own: &Workspace, instance: &Instance) -> Result<UserEnvironment, ExecEnvError> {
    let user = UserEnvironment::of(instance.home(), &own.principal());
    user.prepare()
        .map_err(|source| ExecEnvError::UserEnvironment { path: user.path().to_owned(), source })?;
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
