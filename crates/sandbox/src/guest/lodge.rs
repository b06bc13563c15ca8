//! What every guest's walls are made from: settled once, at the start.
//!
//! Invariant: with isolation on there is a rung for every guest; without, secrets are still left behind.

use super::error::GuestError;
use super::stay::{Guest, Stay};
use crate::exec::{Quarters, cage_environment, operator_home};
use crate::instance::Instance;
use crate::isolate::{
    Backend, Cage, CommandSource, InstancePaths, LiveHost, PlanRequest, UserEnvironment, WorkspaceMount, plan,
};
use crate::launch::environment::{self, Variables};
use crate::launch::{self, LaunchSpec, Walls, WorkDir};
use picoclaw_policy::config::{Config, ExposeMode, IsolationConfig};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where guests are put up.
#[derive(Debug, Clone)]
pub struct Lodge {
    isolation: IsolationConfig,
    secrets: Vec<String>,
    instance: Instance,
    host: Variables,
    rung: Option<Backend>,
}

/// A guest whose walls stand, about to be started.
pub(crate) struct Ready {
    pub(crate) spec: LaunchSpec,
    /// What the kernel will hold, as the ledger names it.
    pub(crate) layers: Vec<String>,
}

impl Lodge {
    /// With what the configuration asks for, on the rung that this host gives.
    pub(crate) fn new(config: &Config, instance: &Instance, host: Variables, rung: Option<Backend>) -> Self {
        Self {
            isolation: config.isolation.clone(),
            secrets: config.secrets.clone(),
            instance: instance.clone(),
            host,
            rung,
        }
    }

    /// Whether guests are caged: what may be told to switch its own safety off only then.
    pub fn is_caged(&self) -> bool {
        self.rung.is_some()
    }

    /// Builds the walls for one guest.
    pub(crate) fn ready(&self, guest: &Guest<'_>) -> Result<Ready, GuestError> {
        let user = UserEnvironment::of(self.instance.home(), &guest.principal);
        user.prepare().map_err(|errno| unusable(user.path(), errno))?;
        let place = match guest.stay {
            Stay::Own => user.path().join("home"),
            Stay::At { path, .. } => path.to_owned(),
        };
        let name = guest.command.first().ok_or(GuestError::Nothing)?;
        let program = launch::find_program(name, &self.path(), &place)?;
        let (walls, mut variables, layers) = match &self.rung {
            None => {
                let plain = environment::without_secrets(self.host.iter().cloned(), &self.secrets);
                let open = Quarters::open(plain);
                let layers = open.layers();
                (open.walls, open.environment, layers)
            }
            Some(rung) => self.caged(rung, guest, &user, &program, &place)?,
        };
        environment::set_work_dir(&mut variables, &place);
        for (name, value) in guest.variables {
            environment::set(&mut variables, name, value.clone());
        }
        let spec = LaunchSpec {
            program,
            argv: guest.command.to_vec(),
            work_dir: WorkDir::open(&place).map_err(|errno| unusable(&place, errno))?,
            environment: variables,
            streams: guest.streams.clone(),
            deadline: guest.deadline,
            bounds: guest.bounds,
            principal: guest.principal.clone(),
            walls,
        };
        Ok(Ready { spec, layers })
    }

    fn caged(
        &self,
        rung: &Backend,
        guest: &Guest<'_>,
        user: &UserEnvironment,
        program: &Path,
        place: &Path,
    ) -> Result<(Walls, Variables, Vec<String>), GuestError> {
        let workspace = match guest.stay {
            Stay::Own => None,
            Stay::At { path, mode } => Some(WorkspaceMount { path: path.to_owned(), mode }),
        };
        let view = InstancePaths {
            root: self.instance.home().to_owned(),
            workspace,
            user_environment: user.path().to_owned(),
            skills: self.instance.join("skills"),
            protected: self.protected(place),
        };
        let home = operator_home(&self.host);
        let source =
            CommandSource::Operator { program, arguments: guest.command.get(1..).unwrap_or_default() };
        let request = PlanRequest {
            isolation: &self.isolation,
            instance: &view,
            source,
            work_dir: place,
            home: &home,
            variables: &self.host,
        };
        let plan = plan(&request, &LiveHost)?;
        for rule in plan.lines() {
            tracing::debug!(target: "isolation", guest = %guest.principal.directory().display(), rule, "linux isolation mount plan");
        }
        let writable: Vec<PathBuf> = match guest.stay {
            Stay::At { path, mode: ExposeMode::ReadWrite } => vec![path.to_owned()],
            _ => Vec::new(),
        };
        let variables = cage_environment(&self.host, user, &self.isolation, (&home, &LiveHost), &writable);
        let enforced = rung.enforced(&self.isolation);
        let layers = enforced.layers().map(|(_, name, grade)| format!("{name} {grade}")).to_vec();
        let cage = Cage::new(plan, rung.clone())?;
        Ok((Walls::Cage(Arc::new(cage)), variables, layers))
    }

    /// What this guest may not see: everything Protected, but an agent's workspace that the operator put it in.
    fn protected(&self, place: &Path) -> Vec<crate::isolate::HiddenPath> {
        let own = self
            .instance
            .workspaces()
            .iter()
            .find(|own| place.starts_with(own.named.as_path()) || place.starts_with(own.real.as_path()));
        own.map_or_else(|| self.instance.covered(), |own| self.instance.covered_from(own))
    }

    fn path(&self) -> OsString {
        let path = self.host.iter().find(|(name, _)| name == "PATH");
        path.map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

fn unusable(path: &Path, errno: rustix::io::Errno) -> GuestError {
    GuestError::Directory { path: path.to_owned(), source: errno.into() }
}
