//! Scheduled jobs: when, what, on whose behalf, and how the last run went.
//!
//! [`Schedule`] is pure: the clock is passed in. [`Store`] keeps the jobs of an instance in one file that is replaced
//! whole under a lock, so that the command line and a running gateway can both edit it. [`Scheduler`] runs what is due
//! through whoever it was given ([`Runs`]); [`Jobs`] is the one that runs turns and commands. A run is marked before it
//! begins and settled after it ended, under a lock that the kernel lets go of when the process is killed: a run that was
//! interrupted is told as such and not repeated.
//!
//! Invariant: no job runs twice at once, and no run that may have been completed is repeated.

mod change;
mod due;
mod error;
mod firing;
mod job;
mod jobs;
mod schedule;
mod scheduler;
mod store;
mod tool;

pub use change::{Added, Change, Switch, Whose};
pub use error::CronError;
pub use firing::{Clock, Done, Firing, MachineClock, Running, Runs, run_now};
pub use job::{Job, LastStatus, Payload, State, Task};
pub use jobs::{Hear, Jobs};
pub use schedule::{Kind, Schedule};
pub use scheduler::Scheduler;
pub use store::{RunLock, Store};
pub use tool::CronTool;
