//! Which jobs run now, and what becomes of them afterwards: the rules, without a clock of their own.
//!
//! What came due while no gateway ran is not made up for: jobs that come again wait for their next time, and one that
//! came but once is told as missed, unless it is late by less than a minute. A run that was interrupted is told as such
//! and not repeated, since nobody knows how far it came.
//!
//! Invariant: a job's next time is settled before it runs, so that no end of this process makes it run again.

use super::error::CronError;
use super::firing::{Done, Firing};
use super::job::{Job, LastStatus, State};
use super::schedule::Kind;
use super::store::{RunLock, Store};
use picoclaw_sandbox::printable;
use std::collections::BTreeSet;

/// How late a job that comes but once may be after a start.
const GRACE_MS: i64 = 60_000;

/// The most of an error that is kept.
const KEPT: usize = 500;

/// What is to be done now.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Runs to begin, each with its lock.
    pub(super) firings: Vec<(Firing, RunLock)>,
    /// Jobs whose last run is not over.
    pub(super) skipped: Vec<String>,
    /// Jobs whose last run ended with its process.
    pub(super) interrupted: Vec<String>,
}

/// Who asked for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// The schedule.
    Scheduled,
    /// A person, who leaves the schedule as it is.
    ByHand,
}

/// A start: what was missed is not made up for.
pub(super) fn begin(jobs: &mut [Job], now_ms: i64) {
    for job in jobs.iter_mut().filter(|job| job.enabled) {
        let is_past = job.state.next_run_at_ms.is_none_or(|next| next <= now_ms);
        match job.schedule.kind {
            Kind::At => {
                let at = job.schedule.at_ms.unwrap_or_default();
                match job.state.running_since_ms {
                    None if is_past && now_ms.saturating_sub(at) > GRACE_MS => {
                        retire(job, LastStatus::Error, "missed: no gateway ran at that time");
                    }
                    None if is_past => job.state.next_run_at_ms = Some(at),
                    _ => {}
                }
            }
            Kind::Every | Kind::Cron if is_past => advance(job, now_ms),
            Kind::Every | Kind::Cron => {}
        }
    }
}

/// Takes what is due, as far as there is room, and marks it.
pub(super) fn take(
    jobs: &mut [Job],
    now_ms: i64,
    room: usize,
    own: &BTreeSet<String>,
    store: &Store,
) -> Result<Due, CronError> {
    let mut due = Due::default();
    for job in jobs {
        if job.state.running_since_ms.is_some() && !own.contains(&job.id) && store.hold(&job.id)?.is_some() {
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
        } else if due.firings.len() < room {
            match store.hold(&job.id)? {
                Some(lock) => {
                    advance(job, now_ms);
                    due.firings.push((mark(job, now_ms), lock));
                }
                // Somebody runs it by hand. What comes but once waits for that.
                None if job.schedule.kind == Kind::At => {}
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

/// When the next one is due.
pub(super) fn earliest(jobs: &[Job]) -> Option<i64> {
    jobs.iter().filter(|job| job.enabled).filter_map(|job| job.state.next_run_at_ms).min()
}

/// Marks a job as running from now on.
pub(super) fn mark(job: &mut Job, now_ms: i64) -> Firing {
    job.state.running_since_ms = Some(now_ms);
    Firing {
        id: job.id.clone(),
        name: job.name.clone(),
        agent: job.agent.clone(),
        task: job.task(),
        began_ms: now_ms,
    }
}

/// Writes down what came of a run.
pub(super) fn settle(jobs: &mut Vec<Job>, firing: &Firing, done: &Done, manner: Manner) {
    // Somebody may have removed it meanwhile.
    let Some(at) = jobs.iter().position(|job| job.id == firing.id) else { return };
    let job = &mut jobs[at];
    job.state.running_since_ms = None;
    job.state.last_run_at_ms = Some(firing.began_ms);
    job.state.last_status = Some(done.status);
    job.state.last_error = (done.status != LastStatus::Ok).then(|| kept(&done.text));
    let is_over = job.schedule.kind == Kind::At && job.state.next_run_at_ms.is_none();
    if manner == Manner::Scheduled && is_over {
        // One that failed stays to be looked at.
        if done.status == LastStatus::Ok && job.delete_after_run {
            jobs.remove(at);
        } else {
            job.enabled = false;
        }
    }
}

fn interrupt(job: &mut Job) {
    job.state.last_run_at_ms = job.state.running_since_ms.take();
    let is_over = job.schedule.kind == Kind::At && job.state.next_run_at_ms.is_none();
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
    job.state.last_error = Some(kept(why));
}

/// On to the next time; a schedule that has none any more is over.
fn advance(job: &mut Job, now_ms: i64) {
    match job.schedule.next(now_ms, Some(now_ms)) {
        Ok(next) => job.state.next_run_at_ms = next,
        Err(why) => retire(job, LastStatus::Error, &why.to_string()),
    }
}

/// A clock that went back leaves no job waiting for a time that was only ever a mistake.
fn follow_clock(job: &mut Job, now_ms: i64) {
    let State { next_run_at_ms: next, last_run_at_ms: last, .. } = job.state;
    let is_lost = match job.schedule.kind {
        Kind::At => false,
        Kind::Every => next.is_none_or(|next| {
            next - now_ms > job.schedule.every_ms.unwrap_or_default().saturating_add(1000)
        }),
        Kind::Cron => next.is_none() || last.is_some_and(|last| last > now_ms),
    };
    if is_lost {
        match job.schedule.next(now_ms, last) {
            Ok(fresh) => job.state.next_run_at_ms = fresh,
            Err(why) => retire(job, LastStatus::Error, &why.to_string()),
        }
    }
}

/// One line of bounded length.
fn kept(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let cut: String = line.chars().take(KEPT).collect();
    printable(&cut).into_owned()
}
