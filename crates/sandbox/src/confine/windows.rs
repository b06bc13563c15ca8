//! The cage of a child on Windows: the limits of its job, and its environment.

use super::{CageRequest, ChildDir, Confined, operator_home};
use crate::isolate::windows_rules::{access_rules, variables};
use crate::isolate::{
    Backend, Cage, Confinement, IsolateError, MountRule, Plan, PlanError, SearchPath, UserEnvironment,
};
use crate::launch::environment::Variables;
use crate::protect::Protection;
use picoclaw_policy::config::{ExposeMode, IsolationConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A cage as planned.
pub(crate) struct PlannedCage<'r> {
    isolation: &'r IsolationConfig,
    plan: Arc<Plan>,
    environment: Variables,
    rules: Vec<String>,
    user: UserEnvironment,
    protection: Protection,
}

impl<'r> PlannedCage<'r> {
    /// Assembles the cage; an exposure is refused, since no path is mapped.
    pub(crate) fn new(request: CageRequest<'r>) -> Result<Self, PlanError> {
        let CageRequest { isolation, user, dir, host, .. } = request;
        if !isolation.expose_paths.is_empty() {
            return Err(PlanError::NotOnWindows);
        }
        let work_dir = dir.resolve(user);
        let IsolationConfig { unix_sockets, limits, debug, tmp_mb, .. } = *isolation;
        let network = isolation.network.clone();
        let search = match dir {
            ChildDir::Project { path, .. } => SearchPath::All(path),
            ChildDir::Path { path, .. } => SearchPath::Outside(Some(path)),
            ChildDir::Private => SearchPath::Outside(Some(&work_dir)),
        };
        let protection = match dir.workspace() {
            Some(workspace) => {
                Protection::of_workspace(&workspace.path, &isolation.protect, &operator_home(host))
            }
            None => Protection::none(),
        };
        let mounts: Vec<MountRule> = Vec::new();
        let rules = access_rules(user.path(), &work_dir);
        let environment = variables(host.iter().cloned(), user.path(), &isolation.env_pass, search);
        let plan = Arc::new(Plan { mounts, work_dir, network, unix_sockets, limits, debug, tmp_mb });
        let user = user.clone();
        Ok(Self { isolation, plan, environment, rules, user, protection })
    }

    /// What the log says of it, one line a rule.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.rules.clone()
    }

    /// Whether the child sees `path` of the host: reads are not held.
    pub(crate) fn shows(&self, _path: &Path) -> bool {
        true
    }

    /// Another name of the working directory: only a mount namespace can have one.
    pub(crate) fn named_dir(&self) -> Option<&Path> {
        None
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Every path is shown.
    pub(crate) fn show(&mut self, _path: PathBuf, _mode: ExposeMode) {}

    /// The cage on this backend; refuses what the backend cannot hold.
    pub(crate) fn build(&self, backend: &Backend) -> Result<Confined, IsolateError> {
        let cage = Cage::new(Arc::clone(&self.plan), backend.clone())?;
        let what = "label the user environment of confined commands".to_owned();
        self.user.label_low().map_err(|source| IsolateError::Kernel { what, source })?;
        Ok(Confined {
            confinement: Confinement::Cage(Arc::new(cage)),
            environment: self.environment.clone(),
            protection: self.protection.clone(),
            enforced: backend.enforced(self.isolation),
        })
    }
}
