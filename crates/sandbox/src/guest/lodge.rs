//! What every guest's walls are made from: settled once, at the start.
//!
//! Invariant: with isolation on there is a rung for every guest; without, secrets are still left behind.

use super::error::GuestError;
use super::stay::Guest;
use crate::confine::{CageRequest, Confined, PlannedCage, Settings};
use crate::isolate::{CommandSource, HiddenPath, UserEnvironment};
use crate::launch::environment;
use crate::launch::{self, LaunchSpec, WorkDir};
use std::path::{Path, PathBuf};

/// Where guests are put up.
#[derive(Debug, Clone)]
pub struct Lodge(Settings);

/// A guest whose walls stand, about to be started.
pub(crate) struct Ready {
    pub(crate) spec: LaunchSpec,
    pub(crate) work_dir: PathBuf,
    /// What the kernel will hold, as the ledger names it.
    pub(crate) layers: Vec<String>,
}

impl Lodge {
    pub(crate) fn new(settings: Settings) -> Self {
        Self(settings)
    }

    /// Whether guests are caged: what may be told to switch its own safety off only then.
    pub fn is_caged(&self) -> bool {
        self.0.rung.is_some()
    }

    /// Builds the walls for one guest.
    pub(crate) fn ready(&self, guest: &Guest<'_>) -> Result<Ready, GuestError> {
        let user = UserEnvironment::of(self.0.instance.home(), &guest.principal);
        user.prepare().map_err(|errno| unusable(user.path(), errno))?;
        let place = guest.dir.resolve(&user);
        let name = guest.command.first().ok_or(GuestError::Nothing)?;
        let path = environment::get(&self.0.host, "PATH").unwrap_or_default();
        let program = launch::find_program(name, path, &place)?;
        let confined = self.confined(guest, &user, &program, &place)?;
        let layers = confined.layers();
        let handle = WorkDir::open(&place).map_err(|errno| unusable(&place, errno))?;
        let spec = confined.spec(program, guest.command.to_vec(), handle, guest.principal.clone())?;
        let (streams, deadline, output_limit) = (guest.streams.clone(), guest.deadline, guest.output_limit);
        let mut spec = LaunchSpec { streams, deadline, output_limit, ..spec };
        for (name, value) in guest.variables {
            environment::set(&mut spec.environment, name, value.clone());
        }
        Ok(Ready { spec, work_dir: place, layers })
    }

    fn confined(
        &self,
        guest: &Guest<'_>,
        user: &UserEnvironment,
        program: &Path,
        place: &Path,
    ) -> Result<Confined, GuestError> {
        let Settings { isolation, secrets, instance, host, rung } = &self.0;
        let Some(rung) = rung else {
            return Ok(Confined::none(environment::without_secrets(host.iter().cloned(), secrets)));
        };
        let arguments = guest.command.get(1..).unwrap_or_default();
        let planned = PlannedCage::new(CageRequest {
            isolation,
            instance,
            user,
            dir: guest.dir,
            author: CommandSource::Operator { program, arguments },
            protected: self.protected(place),
            host,
        })?;
        for rule in planned.lines() {
            tracing::debug!(target: "isolation", guest = %guest.principal.directory().display(), rule, "linux isolation mount plan");
        }
        Ok(planned.build(rung)?)
    }

    /// What this guest may not see: everything Protected, but an agent's workspace that the operator put it in.
    fn protected(&self, place: &Path) -> Vec<HiddenPath> {
        let instance = &self.0.instance;
        let mut workspaces = instance.workspaces().iter();
        let own = workspaces
            .find(|own| place.starts_with(own.named.as_path()) || place.starts_with(own.real.as_path()));
        own.map_or_else(|| instance.covered(), |own| instance.covered_from(own))
    }
}

fn unusable(path: &Path, errno: rustix::io::Errno) -> GuestError {
    GuestError::Directory { path: path.to_owned(), source: errno.into() }
}
