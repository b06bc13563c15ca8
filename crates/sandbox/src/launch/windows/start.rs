//! Turns a [`LaunchSpec`] into a running child.

use super::child::Child;
use crate::launch::error::{LaunchError, ProgramError};
use crate::launch::spec::LaunchSpec;
use crate::launch::threads::{Running, open_streams};
use picoclaw_sys::windows::{ChildSpec, RestrictedToken, SpawnError, spawn};
use std::io;

/// Starts a child, and returns when its program runs. After an error no process of it is left.
pub fn start(spec: LaunchSpec) -> Result<Running, LaunchError> {
    let (parent_streams, child_streams) = open_streams(spec.streams.clone())?;
    let token = if spec.setup.is_confined { Some(low_token()?) } else { None };
    let spawned = spawn(&ChildSpec {
        program: spec.program.clone(),
        args: spec.argv.get(1..).unwrap_or_default().to_vec(),
        cwd: spec.setup.work_dir.path.clone(),
        environment: spec.environment.clone(),
        streams: child_streams.handles(),
        limits: spec.setup.limits,
        token: token.as_ref(),
    });
    let spawned = spawned.map_err(|SpawnError { step, source }| match source.kind() {
        io::ErrorKind::NotFound => ProgramError::from_errno(spec.program.clone(), source).into(),
        _ => LaunchError::step(step, source),
    })?;
    Ok(Running::new(Child(spawned), parent_streams, &spec))
}

/// The token of a confined child. Each of its restrictions is read back.
fn low_token() -> Result<RestrictedToken, LaunchError> {
    let token = RestrictedToken::new().map_err(|error| LaunchError::step("restrict its token", error))?;
    token
        .lower_integrity()
        .map_err(|error| LaunchError::step("lower the integrity level of its token", error))?;
    Ok(token)
}
