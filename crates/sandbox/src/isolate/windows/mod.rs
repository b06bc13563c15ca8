//! The cage on Windows: a restricted token of low integrity, and a job.
//!
//! It holds writes and privileges, neither reads nor the network.

mod cage;
mod label;
mod select_backend;

pub use super::no_fence::Fence;
pub use super::not_here::{
    DecoyListener, INSTALL_HINTS, enter_landlock_if_asked, hold_memory, probe, run_doctor_checks,
};
pub use cage::Cage;
pub(super) use label::label_low;
pub use select_backend::select_backend;
pub(crate) use select_backend::untried_backend;

/// Whether a cage shows a path of the host at another.
pub const MAPS_PATHS: bool = false;

/// The name of the log entries with the rules of a cage.
pub(crate) const PLAN_LOG_ENTRY: &str = "windows isolation access rules";
