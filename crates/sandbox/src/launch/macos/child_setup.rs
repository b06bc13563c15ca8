//! The working directory of a child, as data.

use crate::launch::spec::WorkDir;
use crate::launch::threads::ClosedNetwork;

/// The working directory of one child. There is no confinement.
#[derive(Debug)]
pub struct ChildSetup {
    pub(crate) work_dir: WorkDir,
}

impl ChildSetup {
    /// No confinement: the user's own rights.
    pub fn unconfined(work_dir: WorkDir) -> Self {
        Self { work_dir }
    }

    /// Whether the child gets a network of its own.
    pub(crate) fn has_new_network(&self) -> bool {
        false
    }

    /// There is no network that it could join.
    pub fn join_network(&mut self, _network: &ClosedNetwork) {}
}
