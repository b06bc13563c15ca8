//! Which jobs run now, and how runs are settled. Pure: the time is passed in.
//!
//! What came due while no gateway ran is not made up for: recurring jobs wait for their next time,
//! and a one-time job is reported as missed unless it is late by less than a minute. An interrupted
//! run is reported as such and not repeated. The next time of a job is set before it runs, so that
//! the end of the process does not make it run again.

use super::error::CronError;
use super::job::{Job, JobState, LastStatus};
use super::job_run::{JobResult, JobRun};
use super::schedule::ScheduleKind;
use super::store::{RunLock, Store};
use picoclaw_sandbox::{first_chars, printable};
use std::collections::BTreeSet;

/// How late a one-time job may be after a start.
const MAX_LATE_MS: i64 = 60_000;

/// The part of an error that is stored, in characters.
const MAX_ERROR_CHARS: usize = 500;

/// What is due.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Runs to begin, each with its lock.
    pub(super) runs: Vec<(JobRun, RunLock)>,
    /// Jobs whose last run has not ended.
    pub(super) skipped: Vec<String>,
    /// Jobs whose last run ended with its process.
    pub(super) interrupted: Vec<String>,
}

/// What started a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The schedule.
    Scheduled,
    /// A person; the schedule stays as it is.
    Manual,
}

/// Settles what was missed before the scheduler started.
pub(super) fn settle_missed(jobs: &mut [Job], now_ms: i64) {
    for job in jobs.iter_mut().filter(|job| job.enabled) {
        let is_past = job.state.next_run_at_ms.is_none_or(|next| next <= now_ms);
        match job.schedule.kind {
            ScheduleKind::At => {
                let at = job.schedule.at_ms.unwrap_or_default();
                match job.state.running_since_ms {
                    None if is_past && now_ms.saturating_sub(at) > MAX_LATE_MS => {
                        retire(job, LastStatus::Error, "missed: no gateway ran at that time");
                    }
                    None if is_past => job.state.next_run_at_ms = Some(at),
                    _ => {}
                }
            }
            ScheduleKind::Every | ScheduleKind::Cron if is_past => advance(job, now_ms),
            ScheduleKind::Every | ScheduleKind::Cron => {}
        }
    }
}

/// Takes what is due, as far as there is room, and marks it as running.
pub(super) fn take(
    jobs: &mut [Job],
    now_ms: i64,
    room: usize,
    own: &BTreeSet<String>,
    store: &Store,
) -> Result<Due, CronError> {
    let mut due = Due::default();
    for job in jobs {
        if job.state.running_since_ms.is_some()
            && !own.contains(&job.id)
            && store.lock_run(&job.id)?.is_some()
        {
            interrupt(job);
            due.interrupted.push(job.id.clone());
        }
        if !job.enabled {
            continue;
        }
        follow_clock(job, now_ms);
        if job.state.next_run_at_ms.is_none_or(|next| next > now_ms) {
            continue;
        }
        if own.contains(&job.id) {
            due.skipped.push(job.id.clone());
            advance(job, now_ms);
        } else if due.runs.len() < room {
            match store.lock_run(&job.id)? {
                Some(lock) => {
                    advance(job, now_ms);
                    due.runs.push((mark(job, now_ms), lock));
                }
                // It runs by hand. A one-time job waits for that.
                None if job.schedule.kind == ScheduleKind::At => {}
                None => {
                    due.skipped.push(job.id.clone());
                    advance(job, now_ms);
                }
            }
        }
    }
    Ok(due)
}

/// Whether [`take`] would change anything.
pub(super) fn is_any(jobs: &[Job], now_ms: i64, own: &BTreeSet<String>) -> bool {
    jobs.iter().any(|job| {
        let is_marked = job.state.running_since_ms.is_some() && !own.contains(&job.id);
        let mut followed = job.clone();
        if job.enabled {
            follow_clock(&mut followed, now_ms);
        }
        is_marked
            || followed != *job
            || job.enabled && job.state.next_run_at_ms.is_some_and(|next| next <= now_ms)
    })
}

/// When the next job is due.
pub(super) fn earliest(jobs: &[Job]) -> Option<i64> {
    jobs.iter().filter(|job| job.enabled).filter_map(|job| job.state.next_run_at_ms).min()
}

/// Marks a job as running from now on.
pub(super) fn mark(job: &mut Job, now_ms: i64) -> JobRun {
    job.state.running_since_ms = Some(now_ms);
    JobRun {
        id: job.id.clone(),
        name: job.name.clone(),
        agent: job.agent.clone(),
        lineage: job.lineage.clone(),
        task: job.task(),
        began_ms: now_ms,
    }
}

/// Records the result of a run.
pub(super) fn settle(jobs: &mut Vec<Job>, run: &JobRun, result: &JobResult, trigger: Trigger) {
    // It may have been removed meanwhile.
    let Some(at) = jobs.iter().position(|job| job.id == run.id) else { return };
    let job = &mut jobs[at];
    job.state.running_since_ms = None;
    job.state.last_run_at_ms = Some(run.began_ms);
    job.state.last_status = Some(result.status);
    job.state.last_error = (result.status != LastStatus::Ok).then(|| error_line(&result.text));
    let is_over = job.schedule.kind == ScheduleKind::At && job.state.next_run_at_ms.is_none();
    if trigger == Trigger::Scheduled && is_over {
        // A failed one stays, disabled.
        if result.status == LastStatus::Ok && job.delete_after_run {
            jobs.remove(at);
        } else {
            job.enabled = false;
        }
    }
}

fn interrupt(job: &mut Job) {
    job.state.last_run_at_ms = job.state.running_since_ms.take();
    let is_over = job.schedule.kind == ScheduleKind::At && job.state.next_run_at_ms.is_none();
    job.state.last_status = Some(LastStatus::Error);
    job.state.last_error = Some("interrupted: picoclaw ended during the run".to_owned());
    if is_over {
        job.enabled = false;
    }
}

fn retire(job: &mut Job, status: LastStatus, why: &str) {
    job.enabled = false;
    job.state.next_run_at_ms = None;
    job.state.last_status = Some(status);
    job.state.last_error = Some(error_line(why));
}

/// Sets the next time; a schedule that has none has ended.
fn advance(job: &mut Job, now_ms: i64) {
    match job.schedule.next(now_ms, Some(now_ms)) {
        Ok(next) => job.state.next_run_at_ms = next,
        Err(why) => retire(job, LastStatus::Error, &why.to_string()),
    }
}

/// Corrects the next time after the clock was set back.
fn follow_clock(job: &mut Job, now_ms: i64) {
    let JobState { next_run_at_ms: next, last_run_at_ms: last, .. } = job.state;
    let is_wrong = match job.schedule.kind {
        ScheduleKind::At => false,
        ScheduleKind::Every => next.is_none_or(|next| {
            next - now_ms > job.schedule.every_ms.unwrap_or_default().saturating_add(1000)
        }),
        ScheduleKind::Cron => next.is_none() || last.is_some_and(|last| last > now_ms),
    };
    if is_wrong {
        match job.schedule.next(now_ms, last) {
            Ok(fresh) => job.state.next_run_at_ms = fresh,
            Err(why) => retire(job, LastStatus::Error, &why.to_string()),
        }
    }
}

/// One line of bounded length.
fn error_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    printable(first_chars(line, MAX_ERROR_CHARS)).into_owned()
}
