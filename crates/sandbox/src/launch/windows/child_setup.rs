//! The working directory and the confinement of a child, as data.

use crate::launch::spec::WorkDir;
use crate::launch::threads::ClosedNetwork;
use picoclaw_sys::windows::JobLimits;

/// The working directory and the confinement of one child.
#[derive(Debug)]
pub struct ChildSetup {
    pub(crate) work_dir: WorkDir,
    /// The limits of its job.
    pub(crate) limits: JobLimits,
    /// Whether it gets a restricted token of low integrity.
    pub(crate) is_confined: bool,
}

impl ChildSetup {
    /// No confinement: the user's own rights, in a job.
    pub fn unconfined(work_dir: WorkDir) -> Self {
        Self { work_dir, limits: JobLimits::default(), is_confined: false }
    }

    /// Whether the child gets a network of its own.
    pub(crate) fn has_new_network(&self) -> bool {
        false
    }

    /// There is no network that it could join.
    pub fn join_network(&mut self, _network: &ClosedNetwork) {}
}
