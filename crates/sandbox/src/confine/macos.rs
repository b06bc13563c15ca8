//! The cage of a child on macOS, of which there is none.

use super::{CageRequest, Confined};
use crate::isolate::{Backend, IsolateError, Plan, PlanError};
use picoclaw_policy::config::ExposeMode;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A cage as planned.
pub(crate) struct PlannedCage<'r>(Infallible, PhantomData<&'r ()>);

impl<'r> PlannedCage<'r> {
    /// Refuses.
    pub(crate) fn new(_request: CageRequest<'r>) -> Result<Self, PlanError> {
        Err(PlanError::NoCage)
    }

    /// What the log says of it.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self.0 {}
    }

    /// Whether the child sees `path` of the host.
    pub(crate) fn shows(&self, _path: &Path) -> bool {
        match self.0 {}
    }

    /// Another name of the working directory: only a mount namespace can have one.
    pub(crate) fn named_dir(&self) -> Option<&Path> {
        match self.0 {}
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        match self.0 {}
    }

    /// Shows a path.
    pub(crate) fn show(&mut self, _path: PathBuf, _mode: ExposeMode) {
        match self.0 {}
    }

    /// The cage on this backend.
    pub(crate) fn build(&self, _backend: &Backend) -> Result<Confined, IsolateError> {
        match self.0 {}
    }
}
