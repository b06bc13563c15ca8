//! The scheduler: waits for the next moment, runs what is due, and notices what others changed.
//!
//! Invariant: whatever it does to the store it does through an edit; nothing is decided on what it remembers.

use super::due::{self, Due, Manner};
use super::error::CronError;
use super::firing::{Clock, Done, Firing, Runs};
use super::job::LastStatus;
use super::store::{RunLock, Store};
use crate::schedule::Diary;
use picoclaw_sandbox::launch::CancelToken;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How long it sleeps at most: an edit by somebody else, or a clock that was set, is seen by then.
const NAP: Duration = Duration::from_secs(3);

/// How long a job waits that is due and cannot run yet.
const CROWDED: Duration = Duration::from_millis(250);

/// Jobs that run at once; others wait their turn.
const MOST: usize = 8;

/// Runs jobs at their times. Copies are the same scheduler.
#[derive(Clone)]
pub struct Scheduler {
    store: Store,
    clock: Arc<dyn Clock>,
    runs: Arc<RwLock<Arc<dyn Runs>>>,
    diary: Option<Diary>,
    running: Arc<Mutex<BTreeSet<String>>>,
    wake: Arc<Notify>,
}

impl Scheduler {
    /// Over this store, with this clock, running jobs through `runs`.
    pub fn new(store: Store, clock: Arc<dyn Clock>, runs: Arc<dyn Runs>) -> Self {
        let (running, wake) = (Arc::default(), Arc::default());
        Self { store, clock, runs: Arc::new(RwLock::new(runs)), diary: None, running, wake }
    }

    /// Noting each run there as well.
    #[must_use]
    pub fn noting(self, diary: Diary) -> Self {
        Self { diary: Some(diary), ..self }
    }

    /// Runs later jobs through somebody else; those that run are let be.
    pub fn refit(&self, runs: Arc<dyn Runs>) {
        *self.runs.write().unwrap_or_else(PoisonError::into_inner) = runs;
    }

    /// Looks at the store again without waiting for the next moment.
    pub fn look(&self) {
        self.wake.notify_one();
    }

    /// The jobs that run now, by their ids.
    pub fn running(&self) -> Vec<String> {
        self.own().iter().cloned().collect()
    }

    /// Runs jobs until `halt` is raised, and then until those that run have ended.
    pub async fn run(&self, halt: &CancelToken) {
        let mut runs = JoinSet::new();
        let mut has_begun = false;
        while !halt.is_cancelled() {
            // What was missed is looked at before anything is due, however long the store could not be had.
            has_begun = has_begun || self.blocking(Self::begin).await.is_some();
            let (due, earliest) = match has_begun {
                true => self.blocking(Self::take).await.unwrap_or_default(),
                false => Default::default(),
            };
            for (firing, lock) in due.firings {
                runs.spawn(self.clone().fire(firing, lock, halt.clone()));
            }
            let wait = earliest.map(|at| at.saturating_sub(self.clock.now_ms()));
            let wait = wait.map_or(NAP, |wait| match u64::try_from(wait) {
                Ok(wait) => NAP.min(Duration::from_millis(wait)),
                // Due, and without room or still running elsewhere: asked again, but not without a pause.
                Err(_) => CROWDED,
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

    fn begin(&self) -> Result<(), CronError> {
        self.store.edit(|jobs| {
            due::begin(jobs, self.clock.now_ms());
            Ok(())
        })
    }

    /// What is due, taken and marked, and when the next one is.
    fn take(&self) -> Result<(Due, Option<i64>), CronError> {
        let now_ms = self.clock.now_ms();
        let jobs = self.store.read()?;
        if !due::is_any(&jobs, now_ms, &self.own()) {
            return Ok((Due::default(), due::earliest(&jobs)));
        }
        let (due, earliest) = self.store.edit(|jobs| {
            let own = self.own().clone();
            let room = MOST.saturating_sub(own.len());
            let due = due::take(jobs, now_ms, room, &own, &self.store)?;
            Ok((due, due::earliest(jobs)))
        })?;
        for id in &due.skipped {
            tracing::warn!(target: "cron", job = %id, "Job is still running; this run is skipped");
            self.note(LastStatus::Error, &format!("job {id}: skipped, the last run is not over"));
        }
        for id in &due.interrupted {
            tracing::warn!(target: "cron", job = %id, "Job was interrupted by the end of the process that ran it");
            self.note(LastStatus::Error, &format!("job {id}: interrupted, and not run again"));
        }
        self.own().extend(due.firings.iter().map(|(firing, _)| firing.id.clone()));
        Ok((due, earliest))
    }

    async fn fire(self, firing: Firing, lock: RunLock, halt: CancelToken) {
        tracing::info!(target: "cron", job = %firing.id, name = %firing.name, "Job started");
        let runs = Arc::clone(&self.runs.read().unwrap_or_else(PoisonError::into_inner));
        let done = runs.run(&firing, &halt).await;
        tracing::info!(target: "cron", job = %firing.id, status = done.status.as_str(), "Job ended");
        self.blocking(move |this| {
            let settled = this.store.edit(|jobs| {
                due::settle(jobs, &firing, &done, Manner::Scheduled);
                // In one edit: nobody sees a job that has ended and still runs, or the other way round.
                this.own().remove(&firing.id);
                drop(lock);
                Ok(())
            });
            this.own().remove(&firing.id);
            this.tell(&firing, &done);
            settled
        })
        .await;
    }

    fn tell(&self, firing: &Firing, done: &Done) {
        let Firing { id, name, .. } = firing;
        self.note(done.status, &format!("job {id} ({name}): {}: {}", done.status.as_str(), done.text));
    }

    fn note(&self, status: LastStatus, text: &str) {
        match (&self.diary, status) {
            (Some(diary), LastStatus::Ok) => diary.info(text),
            (Some(diary), _) => diary.error(text),
            (None, _) => {}
        }
    }

    /// Files and locks may wait, and this thread must not. What fails is tried again with the next look.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, CronError> + Send + 'static,
    ) -> Option<T> {
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&this)).await;
        let done = done.unwrap_or_else(|why| Err(CronError::Misfit(why.to_string())));
        done.inspect_err(|why| tracing::error!(target: "cron", error = %why, "The jobs cannot be had")).ok()
    }

    fn own(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
