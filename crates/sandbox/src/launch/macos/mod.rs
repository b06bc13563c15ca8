//! Children on macOS: each leads a session and a process group of its own, which is ended with its
//! [`Running`].
//!
//! A process that leaves the group is not ended, and nothing is when this program is killed.

mod cancel_event;
mod child;
mod child_setup;
mod own_process;
mod start;

pub(super) use super::threads::BackgroundChild;
pub use super::threads::NetCounters;
pub use super::threads::{ClosedNetwork, Running, run_with_output, wait_for_supervisors};
pub use super::unix::find_program;
pub(crate) use super::unix::{SHELL_NAMES, is_program, shells};
pub(super) use cancel_event::CancelEvent;
pub(super) use child::Child;
pub use child_setup::ChildSetup;
pub use own_process::{harden_self, raise_fd_limit, resident_bytes};
pub use start::start;

/// The file that is empty and takes everything.
pub(super) const NULL_DEVICE: &str = "/dev/null";
