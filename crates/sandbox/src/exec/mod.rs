//! Commands: of agents, under a permit, and of the operator.
//!
//! A command runs as the very text, and in the very directory, that was judged.

mod agent_env;
mod doctor;
mod exec_env;
mod fence_paths;
mod host_fs;
mod manifest_paths;
mod operator_command;
mod run;
mod session;
pub mod session_input;

pub use doctor::DoctorMode;
pub use exec_env::{ExecEnv, ExecEnvError};
pub use host_fs::HostFs;
pub use manifest_paths::git_paths;
pub use operator_command::{HiddenTarget, HomeMount, OperatorCommand, RunningCommand};
pub use run::{CommandOwner, ExecError, run, start};
pub use session::{CommandReport, Program, Session};

use crate::act::{Facts, Operands};
use crate::os_file::OwnedFd;
use crate::permit::{Effect, Sealed};
use crate::root::{Place, RootError};
use picoclaw_policy::shell::guard::Judgement;
use picoclaw_policy::{ExecIntent, Intent, SessionIntent};
use std::time::Duration;

/// Running a command.
#[derive(Debug)]
pub struct Exec {
    pub(crate) intent: ExecIntent,
    /// The working directory that was judged.
    pub(crate) place: Option<Place>,
    /// What the kernel will enforce, as the ledger names it.
    pub(crate) layers: Vec<String>,
    /// What the paths in it lead to, if a person may be asked about it.
    pub(crate) operands: Operands,
    pub(crate) mode: RunMode,
}

/// How a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunMode {
    /// Whether it runs in the background.
    pub background: bool,
    /// When it is ended.
    pub timeout: Duration,
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

    fn facts(&self) -> Facts {
        Facts {
            path: self.place.as_ref().map(Place::resolved),
            directory: self.place.as_ref().and_then(Place::identity),
            operands: self.operands.clone(),
            background: self.mode.background,
            timeout_seconds: Some(self.mode.timeout.as_secs()),
        }
    }
}

impl Effect for SessionAction {
    fn intent(&self) -> Intent {
        Intent::Session(self.0.clone())
    }
}

impl Exec {
    /// The same command, run this way.
    #[must_use]
    pub fn with_mode(self, mode: RunMode) -> Self {
        Self { mode, ..self }
    }

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
