//! Cages of namespaces, bubblewrap or Landlock, and the fence.

mod backend_enforced;
mod bwrap;
mod bwrap_landlock;
mod cage;
mod doctor_checks;
mod fence;
mod host_sockets;
mod kernel_mounts;
mod landlock_rules;
mod native;
mod probe;
mod proc_masks;
mod rootfs;
mod seccomp_filter;
mod seccomp_rules;
mod select_backend;
mod sock_diag;
mod user_namespaces;

use crate::isolate::error::IsolateError;
pub use bwrap::{INSTALL_HINTS, bwrap_arguments, find_bwrap};
pub use bwrap_landlock::enter_landlock_if_asked;
pub use cage::Cage;
pub use doctor_checks::{DecoyListener, hold_memory, run_doctor_checks};
pub use fence::Fence;
pub use probe::probe;
pub(crate) use select_backend::untried_backend;
pub use select_backend::{choose_backend, select_backend};
use std::io;

/// Whether a cage shows a path of the host at another.
pub const MAPS_PATHS: bool = true;

/// The name of the log entries with the rules of a cage.
pub(crate) const PLAN_LOG_ENTRY: &str = "linux isolation mount plan";

/// Adds what was being done to an error of a system call.
pub(super) fn kernel_error(what: &'static str) -> impl Fn(io::Error) -> IsolateError {
    move |source| IsolateError::Kernel { what: what.into(), source }
}
