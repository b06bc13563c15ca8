//! macOS has no cage: with isolation on nothing starts.

use crate::isolate::backend::Backend;
use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::error::{IsolateError, StartError};
use crate::isolate::mount_rules::MountRule;
pub use crate::isolate::no_fence::Fence;
pub use crate::isolate::not_here::{
    DecoyListener, INSTALL_HINTS, enter_landlock_if_asked, hold_memory, probe, run_doctor_checks,
};
use crate::isolate::plan::Plan;
use crate::launch::{ChildSetup, WorkDir};
use picoclaw_policy::config::{Backend as BackendChoice, IsolationConfig};
use std::convert::Infallible;
use std::ffi::OsStr;
use std::sync::Arc;

/// Whether a cage shows a path of the host at another.
pub const MAPS_PATHS: bool = false;

/// The name of the log entries with the rules of a cage.
pub(crate) const PLAN_LOG_ENTRY: &str = "macos isolation";

const NO_CAGE: &str = "macOS has no cage";

/// A cage, of which there is none.
#[derive(Debug)]
pub struct Cage(Infallible);

impl Cage {
    /// Refuses.
    pub fn new(_plan: impl Into<Arc<Plan>>, _backend: Backend) -> Result<Self, IsolateError> {
        Err(IsolateError::Unsupported { why: NO_CAGE })
    }

    /// The plan that it enforces.
    pub fn plan(&self) -> &Plan {
        match self.0 {}
    }

    /// Whether it keeps what is not shown from being read.
    pub(crate) fn hides_files(&self) -> bool {
        match self.0 {}
    }

    /// The backend that enforces it.
    pub fn backend(&self) -> &Backend {
        match self.0 {}
    }

    /// The setup of a child in this cage.
    pub(crate) fn setup(
        &self,
        _work_dir: WorkDir,
        _protected: Vec<MountRule>,
    ) -> Result<ChildSetup, IsolateError> {
        match self.0 {}
    }
}

/// Refuses: a program with isolation on does not start.
pub fn select_backend(isolation: &IsolationConfig, _path: &OsStr) -> Result<Backend, StartError> {
    let reason = NO_CAGE.to_owned();
    Err(match isolation.backend {
        BackendChoice::Auto => StartError::NoCage { reason },
        BackendChoice::Native => StartError::Native { reason },
        BackendChoice::Bwrap => StartError::Bwrap { reason },
    })
}

/// No backend is attempted.
pub(crate) fn untried_backend(_isolation: &IsolationConfig) -> Option<Backend> {
    None
}

impl Backend {
    /// How much of each layer this backend holds: nothing.
    pub fn enforced(&self, _isolation: &IsolationConfig) -> Enforced {
        let off = || Grade::None(NO_CAGE.to_owned());
        Enforced { filesystem: off(), network: off(), processes: off(), syscalls: off(), limits: off() }
    }
}
