//! The scheduler: waits for the next time, runs what is due, and notices edits of other processes.

use super::due::{self, Due, Trigger};
use super::error::CronError;
use super::job::LastStatus;
use super::job_run::{Clock, JobResult, JobRun, JobRunner};
use super::store::{RunLock, Store};
use crate::schedule::LogFile;
use picoclaw_sandbox::launch::CancelToken;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// The longest sleep: edits of other processes and changes of the clock are noticed after it.
const MAX_SLEEP: Duration = Duration::from_secs(3);

/// The wait for a job that is due and cannot run yet.
const BUSY_WAIT: Duration = Duration::from_millis(250);

/// Jobs that run at once.
const MAX_RUNNING: usize = 8;

/// Runs jobs at their times. Clones share everything.
#[derive(Clone)]
pub struct Scheduler {
    store: Store,
    clock: Clock,
    runner: Arc<RwLock<Arc<dyn JobRunner>>>,
    log: Option<LogFile>,
    running: Arc<Mutex<BTreeSet<String>>>,
    wake: Arc<Notify>,
}

impl Scheduler {
    /// A scheduler of this store, with this clock and this runner.
    pub fn new(store: Store, clock: Clock, runner: Arc<dyn JobRunner>) -> Self {
        let (running, wake) = (Arc::default(), Arc::default());
        Self { store, clock, runner: Arc::new(RwLock::new(runner)), log: None, running, wake }
    }

    /// The same with a log of every run.
    #[must_use]
    pub fn with_log(self, log: LogFile) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Replaces the runner for later runs.
    pub fn replace_runner(&self, runner: Arc<dyn JobRunner>) {
        *self.runner.write().unwrap_or_else(PoisonError::into_inner) = runner;
    }

    /// Reads the store again now.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// The ids of the jobs that run.
    pub fn running(&self) -> Vec<String> {
        self.own().iter().cloned().collect()
    }

    /// Runs jobs until `halt` is raised, and then until those that run have ended.
    pub async fn run(&self, halt: &CancelToken) {
        let mut runs = JoinSet::new();
        let mut has_begun = false;
        while !halt.is_cancelled() {
            // Missed jobs are settled before anything runs, also when the store is not readable at
            // first.
            has_begun = has_begun || self.blocking(Self::settle_missed).await.is_some();
            let (due, earliest) = match has_begun {
                true => self.blocking(Self::take).await.unwrap_or_default(),
                false => Default::default(),
            };
            for (run, lock) in due.runs {
                runs.spawn(self.clone().run_job(run, lock, halt.clone()));
            }
            let wait = earliest.map(|at| at.saturating_sub((self.clock)()));
            let wait = wait.map_or(MAX_SLEEP, |wait| match u64::try_from(wait) {
                Ok(wait) => MAX_SLEEP.min(Duration::from_millis(wait)),
                // Due, but without room or still running elsewhere.
                Err(_) => BUSY_WAIT,
            });
            tokio::select! {
                biased;
                () = halt.cancelled() => {}
                Some(_) = runs.join_next() => {}
                () = self.wake.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        while runs.join_next().await.is_some() {}
    }

    fn settle_missed(&self) -> Result<(), CronError> {
        self.store.edit(|jobs| {
            due::settle_missed(jobs, (self.clock)());
            Ok(())
        })
    }

    /// Takes and marks what is due; and when the next job is due.
    fn take(&self) -> Result<(Due, Option<i64>), CronError> {
        let now_ms = (self.clock)();
        let jobs = self.store.read()?;
        if !due::is_any(&jobs, now_ms, &self.own()) {
            return Ok((Due::default(), due::earliest(&jobs)));
        }
        let (due, earliest) = self.store.edit(|jobs| {
            let own = self.own().clone();
            let room = MAX_RUNNING.saturating_sub(own.len());
            let due = due::take(jobs, now_ms, room, &own, &self.store)?;
            Ok((due, due::earliest(jobs)))
        })?;
        for id in &due.skipped {
            tracing::warn!(target: "cron", job = %id, "Job is still running; this run is skipped");
            self.log(LastStatus::Error, &format!("job {id}: skipped, the last run is not over"));
        }
        for id in &due.interrupted {
            tracing::warn!(target: "cron", job = %id, "Job was interrupted by the end of the process that ran it");
            self.log(LastStatus::Error, &format!("job {id}: interrupted, and not run again"));
        }
        self.own().extend(due.runs.iter().map(|(run, _)| run.id.clone()));
        Ok((due, earliest))
    }

    async fn run_job(self, run: JobRun, lock: RunLock, halt: CancelToken) {
        tracing::info!(target: "cron", job = %run.id, name = %run.name, "Job started");
        let runner = Arc::clone(&self.runner.read().unwrap_or_else(PoisonError::into_inner));
        let result = runner.run(&run, &halt).await;
        tracing::info!(target: "cron", job = %run.id, status = result.status.as_str(), "Job ended");
        self.blocking(move |this| {
            let settled = this.store.edit(|jobs| {
                due::settle(jobs, &run, &result, Trigger::Scheduled);
                // Inside the edit, so that the state and the lock change together for other
                // processes.
                this.own().remove(&run.id);
                drop(lock);
                Ok(())
            });
            this.own().remove(&run.id);
            this.log_result(&run, &result);
            settled
        })
        .await;
    }

    fn log_result(&self, run: &JobRun, result: &JobResult) {
        let JobRun { id, name, .. } = run;
        self.log(result.status, &format!("job {id} ({name}): {}: {}", result.status.as_str(), result.text));
    }

    fn log(&self, status: LastStatus, text: &str) {
        match (&self.log, status) {
            (Some(log), LastStatus::Ok) => log.info(text),
            (Some(log), _) => log.error(text),
            (None, _) => {}
        }
    }

    /// Runs `work` on a blocking thread. A failure is logged; the scheduler tries again later.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, CronError> + Send + 'static,
    ) -> Option<T> {
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&this)).await;
        let done = done.unwrap_or_else(|why| Err(CronError::Invalid(why.to_string())));
        done.inspect_err(|why| tracing::error!(target: "cron", error = %why, "The jobs cannot be read")).ok()
    }

    fn own(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
