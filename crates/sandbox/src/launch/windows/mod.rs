//! Children on Windows: each starts suspended in a job of its own, which ends with its [`Running`].

mod child;
mod child_setup;
mod find_program;
mod own_process;
mod shell;
mod start;

pub(super) use super::threads::BackgroundChild;
pub use super::threads::NetCounters;
pub use super::threads::{ClosedNetwork, Running, run_with_output, wait_for_supervisors};
pub(super) use child::Child;
pub use child_setup::ChildSetup;
pub use find_program::find_program;
pub use own_process::{harden_self, raise_fd_limit, resident_bytes};
pub(crate) use shell::{SHELL_NAMES, is_program, shells};
pub use start::start;

/// The file that is empty and takes everything.
pub(super) const NULL_DEVICE: &str = "NUL";

/// The event of a cancellation token. Threads wait for its waker.
#[derive(Debug, Default)]
pub(super) struct CancelEvent;

impl CancelEvent {
    pub(super) fn set(&self) {}
}
