//! One run of a job: what is run, by whom, and what came of it.
//!
//! Invariant: a run is marked before it begins and settled after it ended, whoever asked for it.

use super::change::Whose;
use super::due::{self, Manner};
use super::error::CronError;
use super::job::{LastStatus, Task};
use super::store::Store;
use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::pin::Pin;
use std::time::{SystemTime, UNIX_EPOCH};

/// One run of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The job.
    pub id: String,
    /// What a person calls it.
    pub name: String,
    /// Whose it is, as the store has it.
    pub agent: String,
    /// The agents above whoever made it.
    pub lineage: Vec<String>,
    /// What it does.
    pub task: Task,
    /// When it began, which tells this run from others.
    pub began_ms: i64,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// In one word.
    pub status: LastStatus,
    /// What it said, or why it was not `ok`.
    pub text: String,
}

/// A run under way.
pub type Running<'r> = Pin<Box<dyn Future<Output = Done> + Send + 'r>>;

/// Whoever runs jobs.
pub trait Runs: Send + Sync {
    /// Runs one to its end, or until `halt` is raised.
    fn run<'r>(&'r self, firing: &'r Firing, halt: &'r CancelToken) -> Running<'r>;
}

/// What time it is.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> i64;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

impl Done {
    /// It did not work.
    pub fn error(text: impl Into<String>) -> Self {
        Self { status: LastStatus::Error, text: text.into() }
    }
}

/// Runs a job at once, in this process; its schedule stays as it is.
pub async fn run_now(
    store: &Store,
    id: &str,
    runs: &dyn Runs,
    clock: &dyn Clock,
    halt: &CancelToken,
) -> Result<Done, CronError> {
    let job = store.get(id, Whose::Everybodys)?;
    let Some(_lock) = store.hold(&job.id)? else { return Err(CronError::StillRunning(job.id)) };
    let began_ms = clock.now_ms();
    let firing = store.edit(|jobs| {
        let job = jobs.iter_mut().find(|job| job.id == id);
        let job = job.ok_or_else(|| CronError::NotFound(id.to_owned()))?;
        Ok(due::mark(job, began_ms))
    })?;
    let done = runs.run(&firing, halt).await;
    store.edit(|jobs| {
        due::settle(jobs, &firing, &done, Manner::ByHand);
        Ok(())
    })?;
    Ok(done)
}
