//! Starts and supervises child processes; no other module does.
//!
//! A [`LaunchSpec`] is complete data. [`start`] turns it into a [`Running`] child with its pipes, [`run_to_end`] also waits
//! for its end, and a [`Background`] child is kept for later. Between picoclaw and every command runs a supervisor, a copy of
//! this process. It reaps orphans and ends the whole process tree (SIGTERM, two seconds, SIGKILL) on request and when
//! picoclaw is gone. No caller waits for a pipe to be closed.
//!
//! Invariant: no child outlives its [`Running`].

mod background;
mod cancel;
mod cgroup;
mod child_setup;
mod closed_network;
pub mod environment;
mod error;
mod find_program;
mod harden;
mod net_counters;
mod output_limit;
mod own_streams;
mod pipe_pump;
mod principal;
mod publish;
mod reap;
mod run;
mod running;
mod spec;
mod start;
mod status;
mod streams;
mod supervisor_handle;
pub mod terminal_keys;
mod tmp_usage;
mod tree_memory;
mod user_terminal;
mod watch;

pub use background::{Background, BackgroundError, State};
pub use cancel::CancelToken;
pub(crate) use cgroup::TreeLimits;
pub use child_setup::ChildSetup;
pub use closed_network::ClosedNetwork;
pub use error::{LaunchError, ProgramError};
pub use find_program::find_program;
pub use harden::{harden_self, raise_fd_limit, resident_bytes};
pub(crate) use net_counters::NetCounters;
pub use output_limit::{HeadTail, OutputLimit, TruncatedOutput};
pub use own_streams::RelayedStreams;
pub(crate) use own_streams::{RelayedPipe, RelayedTerminal};
pub use principal::Principal;
pub(crate) use publish::ListeningPort;
pub use publish::{PublishError, PublishedPort};
pub(crate) use reap::has_children;
pub use reap::wait_for_supervisors;
pub use run::{run_to_end, run_with_output};
pub use running::Running;
pub(crate) use running::{KERNEL_TIMEOUT, TERMINATE_TIMEOUT};
pub use spec::{Deadline, LaunchSpec, WorkDir};
pub use start::start;
pub use status::{Finished, Limit, Status};
pub(crate) use streams::set_size;
pub use streams::{Output, Stdin, Streams, WindowSize};
pub(crate) use user_terminal::{UserTerminal, stream};
