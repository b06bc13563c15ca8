//! Where one agent's commands live: their confinement, their environment, and what the kernel holds of it.
//!
//! Invariant: a cage that is asked for and cannot be had stops the start; nothing falls back to less in silence.

use super::workshop::WorkshopError;
use crate::confine::{CageRequest, ChildDir, Confined, PlannedCage};
use crate::instance::{Instance, Workspace};
use crate::isolate::{self, Backend, CommandSource, Fence, Grade, UserEnvironment};
use crate::launch::Principal;
use crate::launch::environment::{self, Variables};
use picoclaw_policy::config::{Config, ExposeMode};
use picoclaw_policy::shell::guard::Confinement;
use picoclaw_policy::{CleanPath, literal_directory};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

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

/// One agent's confinement, and what the guard has to know of it.
#[derive(Debug, Clone)]
pub(crate) struct Quarters {
    pub(crate) confined: Confined,
    pub(crate) hold: Confinement,
    pub(crate) home: Option<CleanPath>,
    pub(crate) path: Vec<CleanPath>,
}

impl Quarters {
    /// In a cage that `rung` holds.
    pub(super) fn caged(
        own: &Workspace,
        config: &Config,
        instance: &Instance,
        host: &Variables,
        rung: &Backend,
    ) -> Result<Self, WorkshopError> {
        let user = user_environment(own, instance)?;
        let planned = PlannedCage::new(CageRequest {
            isolation: &config.isolation,
            instance,
            user: &user,
            dir: ChildDir::Path { path: own.named.as_path(), mode: ExposeMode::ReadWrite },
            author: CommandSource::Model,
            protected: instance.covered_from(own),
            host,
        })?;
        for rule in planned.lines() {
            tracing::info!(target: "isolation", agent = %own.agent, rule, "linux isolation mount plan");
        }
        Ok(Self::new(planned.build(rung)?))
    }

    /// Behind the write fence, while isolation is off.
    pub(super) fn fenced(
        own: &Workspace,
        config: &Config,
        instance: &Instance,
        host: Variables,
    ) -> Result<Self, WorkshopError> {
        let user = user_environment(own, instance)?;
        let temp = user.path().join("tmp");
        let literal = config.tools.allow_write_paths.iter().filter_map(|pattern| literal_directory(pattern));
        let mut writable = vec![own.real.as_path().to_owned(), temp.clone(), "/dev/shm".into()];
        writable.extend(temporary(&host));
        writable.extend(literal);
        let protected: Vec<PathBuf> =
            instance.zones_of(own).protected.trees.iter().map(|tree| tree.as_path().to_owned()).collect();
        let fence = Fence::new(&writable, &protected);
        let mut environment = host;
        if fence.left_out().iter().any(|place| temporary(&environment).contains(place)) {
            // Something Protected lies in the shared temporary directory: a private one takes its place.
            environment::set(&mut environment, "TMPDIR", temp.as_os_str());
        }
        Ok(Self::new(Confined::fenced(fence, environment)))
    }

    /// With nothing around them but the user's own rights.
    pub(super) fn open(environment: Variables) -> Self {
        Self::new(Confined::none(environment))
    }

    /// The same without variables that change what a shell makes of a command.
    fn new(mut confined: Confined) -> Self {
        confined.environment.retain(|(name, _)| !changes_meaning(name));
        let hold = match (&confined.confinement, &confined.enforced.filesystem) {
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
        Self { confined, hold, home, path }
    }
}

fn user_environment(own: &Workspace, instance: &Instance) -> Result<UserEnvironment, WorkshopError> {
    let user = UserEnvironment::of(instance.home(), &Principal::Agent(own.agent.clone()));
    user.prepare().map_err(|errno| WorkshopError::UserEnvironment {
        path: user.path().to_owned(),
        source: errno.into(),
    })?;
    Ok(user)
}

/// The temporary directories that commands use.
fn temporary(environment: &Variables) -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    places
        .extend(environment::get(environment, "TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute()));
    places
}

fn changes_meaning(name: &OsStr) -> bool {
    // Exported functions travel as `BASH_FUNC_name%%`, and would stand in for the commands that were judged.
    name.as_encoded_bytes().starts_with(b"BASH_FUNC_") || CHANGES_MEANING.iter().any(|known| name == *known)
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
        let kept = Quarters::open(host.into()).confined.environment;
        let names: Vec<_> = kept.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "HOME"]);
    }
}
