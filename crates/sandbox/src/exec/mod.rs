//! Commands: of agents, under a permit, and of the operator.
//!
//! A command runs as the very text, and in the very directory, that was judged.

mod agent_env;
mod doctor;
mod exec_env;
mod fence_paths;
mod host_fs;
mod operator_command;
mod run;
mod session;
pub mod session_input;

pub use doctor::DoctorMode;
pub use exec_env::{ExecEnv, ExecEnvError};
pub use host_fs::HostFs;
pub use operator_command::{OperatorCommand, OperatorCommandError, RunningCommand};
pub use run::{ExecError, run, start};
pub use session::{Program, Session};

use crate::permit::{Effect, Sealed};
use crate::root::{Place, RootError};
use picoclaw_policy::shell::guard::Judgement;
use picoclaw_policy::{ExecIntent, Intent, SessionIntent};
use std::os::fd::OwnedFd;

/// Running a command.
#[derive(Debug)]
pub struct Exec {
    pub(crate) intent: ExecIntent,
    /// The working directory that was judged.
    pub(crate) place: Option<Place>,
    /// What the kernel will enforce, as the ledger names it.
    pub(crate) layers: Vec<String>,
}

/// An action on a background session.
#[derive(Debug)]
pub struct SessionAction(pub SessionIntent);

impl Sealed for Exec {}
impl Sealed for SessionAction {}

impl Effect for Exec {
    fn intent(&self) -> Intent {
        Intent::Exec(self.intent.clone())
    }

    fn enforced(&self) -> Vec<String> {
        self.layers.clone()
    }
}

impl Effect for SessionAction {
    fn intent(&self) -> Intent {
        Intent::Session(self.0.clone())
    }
}

impl Exec {
    /// What the guard found.
    pub fn judgement(&self) -> &Judgement {
        &self.intent.judgement
    }

    /// Opens the working directory.
    pub(crate) fn open_work_dir(&self) -> Result<OwnedFd, RootError> {
        let outside = || RootError::Escapes { path: self.intent.cwd.asked.as_path().to_owned() };
        self.place.as_ref().ok_or_else(outside)?.enter()
    }
}
