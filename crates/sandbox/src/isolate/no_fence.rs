//! The fence, which only Linux has. Every grade says so.

use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::error::IsolateError;
use crate::launch::{ChildSetup, WorkDir};
use picoclaw_sys::SYSTEM;
use std::path::PathBuf;

/// No fence.
#[derive(Debug)]
pub struct Fence;

impl Fence {
    /// Why there is none.
    pub const WHY_NOT: &str = if cfg!(windows) {
        "Windows has none, and commands have your rights"
    } else {
        "macOS has none, and commands have your rights; what leaves its process group is not ended, nor is anything when \
         picoclaw is killed"
    };

    /// Whether this system can hold a fence.
    pub fn is_available() -> bool {
        false
    }

    /// A fence that holds nothing.
    pub fn new(_writable: &[PathBuf], _protected: &[PathBuf]) -> Self {
        tracing::warn!(target: "isolation", "Isolation is off, and there is no fence: {}", Self::WHY_NOT);
        Self
    }

    /// Directories that stay read-only because they contain something Protected.
    pub fn left_out(&self) -> &[PathBuf] {
        &[]
    }

    /// How much of each layer the fence holds.
    pub fn enforced(&self) -> Enforced {
        let off = || Grade::None(format!("isolation is off, and there is no fence on {SYSTEM}"));
        Enforced { filesystem: off(), network: off(), processes: off(), syscalls: off(), limits: off() }
    }

    pub(crate) fn setup(&self, work_dir: WorkDir) -> Result<ChildSetup, IsolateError> {
        Ok(ChildSetup::unconfined(work_dir))
    }
}
