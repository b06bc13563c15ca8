//! Launch: the one place that starts a child.
//!
//! A [`LaunchSpec`] is plain data; [`start`] turns it into a [`Running`] child with owned pipes, [`run_to_end`] waits
//! for it within its deadline, [`Background`] keeps it for later. Between picoclaw and every command stands a keeper,
//! a small copy of this process that adopts orphans, ends the whole tree (SIGTERM, two seconds, SIGKILL) and ends it
//! too when picoclaw itself is gone, however that happened. Nothing here waits for a pipe to close.
//!
//! Invariant: no child starts anywhere else, and none outlives its [`Running`].

mod background;
mod burial;
mod clip;
mod descriptors;
pub mod environment;
mod error;
mod halt;
mod handle;
mod harden;
pub mod keys;
mod live;
mod principal;
mod program;
mod pump;
mod resident;
mod run;
mod running;
mod spec;
mod start;
mod status;
mod streams;

pub use background::{Background, BackgroundError, State};
pub use burial::wait_for_keepers;
pub use clip::{Bounds, Clip, Clipped};
pub use descriptors::raise_descriptors;
pub use error::{LaunchError, ProgramError};
pub use halt::Halt;
pub use harden::harden_self;
pub use principal::Principal;
pub use program::find_program;
pub use resident::resident_bytes;
pub use run::{run_to_end, run_watched};
pub use running::Running;
pub use spec::{Deadline, LaunchSpec, Walls, WorkDir};
pub use start::start;
pub use status::{Finished, Limit, Status};
pub(crate) use streams::is_in_front;
pub use streams::{Output, Stdin, Streams, WindowSize};
