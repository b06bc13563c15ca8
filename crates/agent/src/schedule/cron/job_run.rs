//! One run of a job, and its result.

use super::due::{self, Trigger};
use super::edit::JobScope;
use super::error::CronError;
use super::job::{LastStatus, Task};
use super::store::Store;
use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// One run of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRun {
    /// The job.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its agent, as the store has it.
    pub agent: String,
    /// The agents above the one that made it.
    pub lineage: Vec<String>,
    /// What it does.
    pub task: Task,
    /// When it began; identifies the run.
    pub began_ms: i64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// The status.
    pub status: LastStatus,
    /// The answer, or the error.
    pub text: String,
}

/// The future of a run.
pub type JobFuture<'r> = Pin<Box<dyn Future<Output = JobResult> + Send + 'r>>;

/// Runs jobs.
pub trait JobRunner: Send + Sync {
    /// Runs one to its end, or until `halt` is raised.
    fn run<'r>(&'r self, run: &'r JobRun, halt: &'r CancelToken) -> JobFuture<'r>;
}

/// Returns the time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The system's clock.
pub fn system_clock() -> Clock {
    Arc::new(now_ms)
}

/// The system's time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

impl JobResult {
    /// A failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self { status: LastStatus::Error, text: text.into() }
    }
}

/// Runs a job at once, in this process; its schedule stays as it is.
pub async fn run_now(
    store: &Store,
    id: &str,
    runner: &dyn JobRunner,
    clock: &Clock,
    halt: &CancelToken,
) -> Result<JobResult, CronError> {
    let job = store.get(id, JobScope::All)?;
    let Some(_lock) = store.lock_run(&job.id)? else { return Err(CronError::StillRunning(job.id)) };
    let began_ms = clock();
    let run = store.edit(|jobs| {
        let job = jobs.iter_mut().find(|job| job.id == id);
        let job = job.ok_or_else(|| CronError::NotFound(id.to_owned()))?;
        Ok(due::mark(job, began_ms))
    })?;
    let result = runner.run(&run, halt).await;
    store.edit(|jobs| {
        due::settle(jobs, &run, &result, Trigger::Manual);
        Ok(())
    })?;
    Ok(result)
}
