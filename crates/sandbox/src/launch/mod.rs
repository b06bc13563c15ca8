//! Starts and supervises child processes; no other module does.
//!
//! A [`LaunchSpec`] is complete data. [`start`] turns it into a [`Running`] child with its pipes,
//! [`run_to_end`] also waits for its end, and a [`Background`] child is kept for later. On Linux a
//! supervisor, a copy of this process, runs between picoclaw and every command. It reaps orphans
//! and ends the whole process tree (SIGTERM, two seconds, SIGKILL) on request and when picoclaw is
//! gone. On Windows a job does the same, without SIGTERM. On macOS a process group is ended, and
//! what left the group is not. No caller waits for a pipe to be closed.
//!
//! Invariant: no child outlives its [`Running`].

mod background;
mod cancel;
pub mod environment;
mod error;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod output_limit;
mod principal;
mod publish;
mod relay;
mod run;
mod shell;
mod spec;
mod status;
mod streams;
pub mod terminal_keys;
#[cfg(not(target_os = "linux"))]
mod threads;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
#[cfg(windows)]
use windows as platform;

pub use background::{Background, BackgroundError, State};
pub use cancel::CancelToken;
pub use error::{LaunchError, ProgramError};
#[cfg(target_os = "linux")]
pub use linux::RelayedStreams;
#[cfg(target_os = "linux")]
pub(crate) use linux::{
    RelayedPipe, RelayedTerminal, TERMINATE_TIMEOUT, TreeLimits, UserTerminal, has_children, set_size, stream,
};
pub use output_limit::{HeadTail, OutputLimit, TruncatedOutput};
pub use platform::{
    ChildSetup, ClosedNetwork, NetCounters, Running, find_program, harden_self, raise_fd_limit,
    resident_bytes, run_with_output, start, wait_for_supervisors,
};
pub(crate) use platform::{SHELL_NAMES, is_program, shells};
pub use principal::Principal;
pub(crate) use publish::ListeningPort;
pub use publish::{PublishError, PublishedPort};
#[cfg(target_os = "linux")]
pub(crate) use relay::{relay, reset_when_closed};
#[cfg(target_os = "linux")]
pub(crate) use run::KERNEL_TIMEOUT;
pub use run::run_to_end;
pub(crate) use shell::Shell;
pub use spec::{Deadline, LaunchSpec, WorkDir};
pub use status::{Finished, Limit, Status};
pub use streams::{Output, Stdin, Streams, WindowSize};
