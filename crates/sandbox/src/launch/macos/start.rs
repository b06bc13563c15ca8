//! Turns a [`LaunchSpec`] into a running child.

use super::child::Child;
use crate::launch::error::{LaunchError, ProgramError};
use crate::launch::spec::LaunchSpec;
use crate::launch::threads::{Running, open_streams};
use picoclaw_sys::process_group::{ChildSpec, spawn};
use std::io;
use std::os::fd::AsFd as _;

/// Starts a child, and returns when its program runs. After an error no process of it is left.
pub fn start(spec: LaunchSpec) -> Result<Running, LaunchError> {
    let (parent_streams, child_streams) = open_streams(spec.streams.clone())?;
    let spawned = spawn(&ChildSpec {
        program: spec.program.clone(),
        argv: spec.argv.clone(),
        work_dir: spec.setup.work_dir.handle.as_fd(),
        environment: spec.environment.clone(),
        streams: child_streams.handles(),
    });
    let spawned = spawned.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            ProgramError::from_errno(spec.program.clone(), error).into()
        }
        _ => LaunchError::step("start it", error),
    })?;
    Ok(Running::new(Child(spawned), parent_streams, &spec))
}
