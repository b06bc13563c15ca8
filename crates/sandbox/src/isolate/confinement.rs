//! What confines a child: nothing, the write fence or a cage.

use crate::isolate::error::IsolateError;
use crate::isolate::mount_rules::MountRule;
use crate::isolate::platform::Cage;
use crate::isolate::platform::Fence;
use crate::launch::{ChildSetup, WorkDir};
use std::sync::Arc;

/// The confinement of a kind of child, shared by all children of that kind.
#[derive(Debug, Clone)]
pub enum Confinement {
    /// The user's own rights.
    None,
    /// Writes and signals: for a model's commands while isolation is off.
    Fence(Arc<Fence>),
    /// A cage.
    Cage(Arc<Cage>),
}

impl Confinement {
    /// Whether it has mounts of its own.
    pub fn has_mounts(&self) -> bool {
        matches!(self, Self::Cage(cage) if cage.backend().has_mounts())
    }

    /// Whether it keeps what is not shown from being read.
    pub(crate) fn hides_files(&self) -> bool {
        // The write fence does not; the full one is a cage of the Landlock backend.
        matches!(self, Self::Cage(cage) if cage.hides_files())
    }

    /// The setup of one child that works in `work_dir`, with these mounts over its workspace.
    pub fn child_setup(
        &self,
        work_dir: WorkDir,
        protected: Vec<MountRule>,
    ) -> Result<ChildSetup, IsolateError> {
        match self {
            Self::None => Ok(ChildSetup::unconfined(work_dir)),
            Self::Fence(fence) => fence.setup(work_dir),
            Self::Cage(cage) => cage.setup(work_dir, protected),
        }
    }
}
