//! What belongs to the cages of Linux.

use crate::isolate::doctor_check::{Decoys, DoctorCheck};
use crate::isolate::probe_result::{ProbeResult, Unusable};
use crate::launch::{Finished, LaunchError};
use picoclaw_sys::SYSTEM;
use std::ffi::OsStr;
use std::path::Path;

/// How bubblewrap is installed.
pub const INSTALL_HINTS: &str = "it runs on Linux alone";

/// Bubblewrap's second stage is never this program.
pub fn enter_landlock_if_asked() {}

/// In the child of a check that is not run here.
pub fn hold_memory(_name: &str, _mebibytes: usize) -> &'static str {
    "unknown"
}

/// No check: their shell lines are for Linux.
pub fn run_doctor_checks(
    _decoys: &Decoys<'_>,
    _run: &dyn Fn(&str) -> Result<Finished, LaunchError>,
) -> Vec<DoctorCheck> {
    Vec::new()
}

/// None of the backends of Linux.
pub fn probe(_path: &OsStr) -> ProbeResult {
    let missing = || Unusable::Missing(format!("this is {SYSTEM}"));
    ProbeResult { native: Err(missing()), bwrap: Err(missing()), landlock: None, remedy: None }
}

/// A UNIX socket, which is not tried here.
#[derive(Debug)]
pub struct DecoyListener(());

impl DecoyListener {
    /// None is made.
    pub fn bind(_path: &Path) -> Option<Self> {
        None
    }

    /// None is connected to.
    pub fn can_connect(_path: &Path) -> bool {
        false
    }
}
