//! Children on Windows: each starts suspended in a job of its own, which ends with its [`Running`].
//!
//! Threads read and write its pipes, since there is no `poll` for them.

mod background_child;
mod child_setup;
mod child_streams;
mod find_program;
mod no_network;
mod own_process;
mod run;
mod running;
mod shell;
mod start;

pub(super) use background_child::BackgroundChild;
pub use child_setup::ChildSetup;
pub use find_program::find_program;
pub use no_network::ClosedNetwork;
pub(crate) use no_network::NetCounters;
pub use own_process::{harden_self, raise_fd_limit, resident_bytes};
pub use run::{run_to_end, run_with_output};
pub(super) use running::{KERNEL_TIMEOUT, KILL_TIMEOUT};
pub use running::{Running, wait_for_supervisors};
pub(crate) use shell::{SHELL_NAMES, is_program, shells};
pub use start::start;

/// The event of a cancellation token. Threads wait for its waker.
#[derive(Debug, Default)]
pub(super) struct CancelEvent;

impl CancelEvent {
    pub(super) fn set(&self) {}
}
