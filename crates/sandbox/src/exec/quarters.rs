//! Where one agent's commands live: their walls, their environment, and what the kernel holds of it.
//!
//! Invariant: a cage that is asked for and cannot be had stops the start; nothing falls back to less in silence.

use super::workshop::WorkshopError;
use crate::instance::{Instance, Workspace};
use crate::isolate::{
    Backend, Cage, CommandSource, Enforced, Fence, Grade, HostFiles, InstancePaths, LiveHost, PlanRequest,
    UserEnvironment, cage_variables, git_identity, plan, toolchain_variables,
};
use crate::launch::environment::{self, Variables};
use crate::launch::{Principal, Walls};
use picoclaw_policy::config::{Config, ExposeMode, IsolationConfig};
use picoclaw_policy::shell::guard::Hold;
use picoclaw_policy::{CleanPath, literal_directory};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One agent's walls and environment.
#[derive(Debug, Clone)]
pub(crate) struct Quarters {
    pub(crate) walls: Walls,
    pub(crate) environment: Variables,
    pub(crate) hold: Hold,
    pub(crate) enforced: Enforced,
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
        let workspace = own.named.as_path().to_owned();
        let view = InstancePaths {
            root: instance.home().to_owned(),
            workspace: Some(crate::isolate::WorkspaceMount {
                path: workspace.clone(),
                mode: ExposeMode::ReadWrite,
            }),
            user_environment: user.path().to_owned(),
            skills: instance.join("skills"),
            protected: instance.covered_from(own),
        };
        let home = operator_home(host);
        let request = PlanRequest {
            isolation: &config.isolation,
            instance: &view,
            source: CommandSource::Model,
            work_dir: &workspace,
            home: &home,
            variables: host,
        };
        let plan = plan(&request, &LiveHost)?;
        for rule in plan.lines() {
            tracing::info!(target: "isolation", agent = %own.agent, rule, "linux isolation mount plan");
        }
        let environment = cage_environment(host, &user, &config.isolation, (&home, &LiveHost), &[workspace]);
        let enforced = rung.enforced(&config.isolation);
        let walls = Walls::Cage(Arc::new(Cage::new(plan, rung.clone())?));
        Ok(Self::new(walls, environment, Hold::Cage, enforced))
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
        let enforced = fence.enforced();
        let hold = match enforced.filesystem {
            Grade::None(_) => Hold::Nothing,
            Grade::Full | Grade::Partial(_) => Hold::Fence,
        };
        Ok(Self::new(Walls::Fence(Arc::new(fence)), environment, hold, enforced))
    }

    /// With nothing around them but the user's own rights.
    pub(crate) fn open(environment: Variables) -> Self {
        let off = || Grade::None("isolation is off".to_owned());
        let enforced =
            Enforced { filesystem: off(), network: off(), processes: off(), syscalls: off(), limits: off() };
        Self::new(Walls::Open, environment, Hold::Nothing, enforced)
    }

    /// What is held, as the ledger names it.
    pub(crate) fn layers(&self) -> Vec<String> {
        self.enforced.layers().iter().map(|(_, name, grade)| format!("{name} {grade}")).collect()
    }

    fn new(walls: Walls, environment: Variables, hold: Hold, enforced: Enforced) -> Self {
        let value = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let home = value("HOME").and_then(|home| CleanPath::absolute(Path::new(home)));
        let path =
            value("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
        let path = path.iter().filter_map(|dir| CleanPath::absolute(dir)).collect();
        Self { walls, environment, hold, enforced, home, path }
    }
}

/// The whole environment inside a cage: what passes, what is redirected, toolchains, git's identity.
pub(crate) fn cage_environment(
    host: &Variables,
    user: &UserEnvironment,
    isolation: &IsolationConfig,
    (home, files): (&Path, &dyn HostFiles),
    writable: &[PathBuf],
) -> Variables {
    let mut environment = cage_variables(host.iter().cloned(), user, &isolation.env_pass, writable);
    for (name, place) in toolchain_variables(&isolation.toolchains, (home, host), files, user) {
        environment::set(&mut environment, name, place);
    }
    if files.find(home).is_some() {
        for (name, value) in git_identity(home) {
            environment::set(&mut environment, name, value);
        }
    }
    environment
}

/// The operator's own home, where toolchains and git's identity are looked for.
pub(crate) fn operator_home(host: &Variables) -> PathBuf {
    let said = host.iter().find(|(name, _)| name == "HOME").map(|(_, value)| PathBuf::from(value));
    said.filter(|home| home.is_absolute()).or_else(std::env::home_dir).unwrap_or_else(|| PathBuf::from("/"))
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
    let said = environment.iter().find(|(name, _)| name == "TMPDIR").map(|(_, value)| PathBuf::from(value));
    let mut places = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    places.extend(said.filter(|path| path.is_absolute()));
    places
}
