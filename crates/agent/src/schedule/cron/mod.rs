//! Scheduled jobs.
//!
//! [`Schedule`] is pure: the time is passed in. [`Store`] is one file that is replaced under a
//! lock, so that the command line and a running gateway can both edit it. [`Scheduler`] runs what
//! is due through a [`JobRunner`]; [`JobExecutor`] is the one that runs turns and commands. A run
//! is marked before it begins and settled after it has ended, under a lock that the kernel releases
//! with the process: an interrupted run is reported as such and not repeated.

mod due;
mod edit;
mod error;
mod executor;
mod job;
mod job_run;
mod schedule;
mod scheduler;
mod store;
mod tool;

pub use edit::{Change, JobScope, NewJob, Switch};
pub use error::CronError;
pub use executor::{EventSink, JobExecutor};
pub use job::{Job, JobState, LastStatus, Payload, Task};
pub use job_run::{Clock, JobFuture, JobResult, JobRun, JobRunner, now_ms, run_now, system_clock};
pub use schedule::{Schedule, ScheduleKind};
pub use scheduler::Scheduler;
pub use store::{RunLock, Store};
pub use tool::CronTool;
