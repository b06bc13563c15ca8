//! Selects the backend, trying no more of them than needed.

use super::bwrap::find_bwrap;
use super::probe::try_backend;
use crate::isolate::backend::Backend;
use crate::isolate::error::StartError;
use crate::isolate::probe_result::{ProbeResult, Unusable};
use picoclaw_policy::config::{Backend as BackendChoice, IsolationConfig};
use picoclaw_sys::linux::landlock;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Selects the best backend that the configuration allows and that ran a child here.
pub fn select_backend(isolation: &IsolationConfig, path: &OsStr) -> Result<Backend, StartError> {
    let untried = || Unusable::Missing("not tried".to_owned());
    let native = match isolation.backend {
        BackendChoice::Auto | BackendChoice::Native => try_native(path),
        BackendChoice::Bwrap => Err(untried()),
    };
    let bwrap = match isolation.backend {
        BackendChoice::Auto if !matches!(native, Err(Unusable::Missing(_))) => Err(untried()),
        BackendChoice::Native => Err(untried()),
        BackendChoice::Auto | BackendChoice::Bwrap => try_bwrap(path),
    };
    choose_backend(isolation, &ProbeResult { native, bwrap, landlock: landlock::abi(), remedy: None })
}

/// The backend that is attempted without a probe, if the configuration allows it: where a native
/// cage works, the probe would be a second cage.
pub(crate) fn untried_backend(isolation: &IsolationConfig) -> Option<Backend> {
    let is_enough = Backend::Native.enforced(isolation).lacks(&isolation.require).is_none();
    (is_enough && isolation.backend == BackendChoice::Auto).then_some(Backend::Native)
}

/// Chooses the best backend that the configuration allows and the probe found.
pub fn choose_backend(isolation: &IsolationConfig, probed: &ProbeResult) -> Result<Backend, StartError> {
    let native = probed.native.clone();
    let bwrap = probed.bwrap.clone().map(Backend::Bwrap);
    let backend = match isolation.backend {
        BackendChoice::Native => {
            native.map_err(|reason| StartError::Native { reason: reason.to_string() })?
        }
        BackendChoice::Bwrap => bwrap.map_err(|reason| StartError::Bwrap { reason: reason.to_string() })?,
        BackendChoice::Auto => match (native, bwrap, probed.landlock) {
            (Ok(backend), _, _) => backend,
            (Err(Unusable::Failed(reason)), _, _) => {
                return Err(StartError::Trial { backend: "native", reason });
            }
            (_, Ok(backend), _) => backend,
            (_, Err(Unusable::Failed(reason)), _) => {
                return Err(StartError::Trial { backend: "bubblewrap", reason });
            }
            (_, _, Some(_)) => Backend::Landlock,
            (Err(native), Err(bwrap), _) => {
                return Err(StartError::Nothing { native: native.to_string(), bwrap: bwrap.to_string() });
            }
        },
    };
    if let Some((layer, grade)) = backend.enforced(isolation).lacks(&isolation.require) {
        return Err(StartError::Required { layer, grade: grade.to_string() });
    }
    let remapped = isolation.expose_paths.iter().any(|exposure| exposure.source != exposure.target);
    if backend == Backend::Landlock && remapped {
        return Err(StartError::CannotEnforce { what: "an exposure with another target than its source" });
    }
    Ok(backend)
}

/// Tries our own namespaces: with a new procfs, or else with the host's `/proc`.
pub(super) fn try_native(path: &OsStr) -> Result<Backend, Unusable> {
    match try_backend(Backend::Native, path) {
        Ok(()) => Ok(Backend::Native),
        Err(failed @ Unusable::Failed(_)) => Err(failed),
        Err(missing) => match try_backend(Backend::NativeHostProc, path) {
            Ok(()) => Ok(Backend::NativeHostProc),
            Err(failed @ Unusable::Failed(_)) => Err(failed),
            Err(Unusable::Missing(_)) => Err(missing),
        },
    }
}

/// Tries bubblewrap, if it is installed.
pub(super) fn try_bwrap(path: &OsStr) -> Result<PathBuf, Unusable> {
    let program = find_bwrap(path).ok_or_else(|| {
        Unusable::Missing("bubblewrap (`bwrap`) was not found as a program of root's own".to_owned())
    })?;
    try_backend(Backend::Bwrap(program.clone()), path).map(|()| program)
}
