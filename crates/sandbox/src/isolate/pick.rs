//! Picking a rung with as few trials as possible.
//!
//! Invariant: what is picked was tried with a real child; what is not needed is not tried.

use super::bwrap::find_bwrap;
use super::error::StartError;
use super::probe::try_rung;
use super::rung::{Probed, Rung, choose};
use picoclaw_policy::config::{Backend, IsolationConfig};
use picoclaw_sys::linux::landlock;
use std::ffi::OsStr;

/// The rung that the configuration asks for and this host gives.
pub fn pick(isolation: &IsolationConfig, path: &OsStr) -> Result<Rung, StartError> {
    let untried = || "not tried".to_owned();
    let native = match isolation.backend {
        Backend::Auto | Backend::Native => try_rung(Rung::Native, path),
        Backend::Bwrap => Err(untried()),
    };
    let bwrap = match isolation.backend {
        Backend::Auto if native.is_ok() => Err(untried()),
        Backend::Native => Err(untried()),
        Backend::Auto | Backend::Bwrap => try_bwrap(path),
    };
    choose(isolation, &Probed { native, bwrap, landlock: landlock::abi() })
}

/// Tries bubblewrap, if it is there.
pub(super) fn try_bwrap(path: &OsStr) -> Result<std::path::PathBuf, String> {
    let program = find_bwrap(path)
        .ok_or_else(|| "bubblewrap (`bwrap`) was not found as a program of root's own".to_owned())?;
    try_rung(Rung::Bwrap(program.clone()), path).map(|()| program)
}
