//! What belongs to the cages of Linux.

use crate::isolate::doctor_check::{Decoys, DoctorCheck};
use crate::launch::{Finished, LaunchError};

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
