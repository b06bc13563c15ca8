//! Edits of jobs: add, change, enable, disable, remove. An agent reaches its own jobs alone.

use super::error::CronError;
use super::job::{Job, JobState, Payload, Task};
use super::schedule::{Schedule, ScheduleKind};
use super::store::Store;
use picoclaw_policy::AgentId;
use serde_json::Map;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Jobs of one agent.
const MAX_JOBS: usize = 200;

/// The longest name.
const MAX_NAME_BYTES: usize = 200;

/// The longest message or command.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// The jobs that an edit may reach.
#[derive(Debug, Clone, Copy)]
pub enum JobScope<'a> {
    /// All: the operator asks.
    All,
    /// An agent's own.
    Own(&'a AgentId),
}

/// A new job.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Its name; the beginning of its text otherwise.
    pub name: Option<String>,
    /// Its agent.
    pub agent: AgentId,
    /// The agents above the one that makes it.
    pub lineage: Vec<AgentId>,
    /// What.
    pub task: Task,
    /// When.
    pub schedule: Schedule,
}

/// A change of a job; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// The name.
    pub name: Option<String>,
    /// What.
    pub task: Option<Task>,
    /// When.
    pub schedule: Option<Schedule>,
    /// Whether it runs.
    pub enabled: Option<Switch>,
    /// The agents above the one that changes it: their permissions bound the job from now on.
    pub lineage: Vec<AgentId>,
}

/// Whether a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Enabled.
    On,
    /// Disabled.
    Off,
}

impl JobScope<'_> {
    /// Whether this job is in the scope.
    pub fn includes(&self, job: &Job) -> bool {
        match self {
            Self::All => true,
            Self::Own(agent) => job.agent == agent.as_str(),
        }
    }
}

impl Store {
    /// The jobs in `scope`.
    pub fn list(&self, scope: JobScope<'_>) -> Result<Vec<Job>, CronError> {
        Ok(self.read()?.into_iter().filter(|job| scope.includes(job)).collect())
    }

    /// One of them.
    pub fn get(&self, id: &str, scope: JobScope<'_>) -> Result<Job, CronError> {
        let found = self.list(scope)?.into_iter().find(|job| job.id == id);
        found.ok_or_else(|| CronError::NotFound(id.to_owned()))
    }

    /// Adds a job.
    pub fn add(&self, new: NewJob, now_ms: i64) -> Result<Job, CronError> {
        check(&new.task)?;
        let next = new.schedule.next(now_ms, None)?.ok_or(CronError::Never)?;
        let name = name_or_excerpt(new.name.as_deref(), &new.task)?;
        self.edit(|jobs| {
            if jobs.iter().filter(|job| job.agent == new.agent.as_str()).count() >= MAX_JOBS {
                return Err(CronError::Invalid(format!(
                    "there are {MAX_JOBS} jobs already; remove one first"
                )));
            }
            let job = Job {
                id: fresh_id(jobs),
                name,
                enabled: true,
                agent: new.agent.to_string(),
                lineage: new.lineage.iter().map(ToString::to_string).collect(),
                delete_after_run: new.schedule.kind == ScheduleKind::At,
                schedule: new.schedule,
                payload: Payload::of(new.task),
                state: JobState { next_run_at_ms: Some(next), ..JobState::default() },
                created_at_ms: now_ms,
                updated_at_ms: now_ms,
                rest: Map::new(),
            };
            jobs.push(job.clone());
            Ok(job)
        })
    }

    /// Changes a job.
    pub fn update(
        &self,
        id: &str,
        change: Change,
        scope: JobScope<'_>,
        now_ms: i64,
    ) -> Result<Job, CronError> {
        change.task.as_ref().map_or(Ok(()), check)?;
        self.edit(|jobs| {
            let job = find(jobs, id, scope)?;
            for above in &change.lineage {
                if job.lineage.iter().all(|known| known != above.as_str()) {
                    job.lineage.push(above.to_string());
                }
            }
            if let Some(name) = &change.name {
                job.name = name_or_excerpt(Some(name), &job.task())?;
            }
            if let Some(task) = change.task {
                let rest = std::mem::take(&mut job.payload.rest);
                job.payload = Payload { rest, ..Payload::of(task) };
            }
            let reschedules = change.schedule.is_some() || change.enabled == Some(Switch::On);
            if let Some(schedule) = change.schedule {
                job.delete_after_run = schedule.kind == ScheduleKind::At;
                job.schedule = schedule;
            }
            if let Some(switch) = change.enabled {
                job.enabled = switch == Switch::On;
            }
            if !job.enabled {
                job.state.next_run_at_ms = None;
            } else if reschedules {
                let next = job.schedule.next(now_ms, None)?;
                job.state.next_run_at_ms = Some(next.ok_or(CronError::Never)?);
            }
            job.updated_at_ms = now_ms;
            Ok(job.clone())
        })
    }

    /// Switches a job on or off, for a caller below these agents.
    pub fn switch(
        &self,
        id: &str,
        to: Switch,
        lineage: &[AgentId],
        scope: JobScope<'_>,
        now_ms: i64,
    ) -> Result<Job, CronError> {
        let change = Change { enabled: Some(to), lineage: lineage.to_vec(), ..Change::default() };
        self.update(id, change, scope, now_ms)
    }

    /// Removes a job. A run in progress is not stopped.
    pub fn remove(&self, id: &str, scope: JobScope<'_>) -> Result<Job, CronError> {
        self.edit(|jobs| {
            let at = jobs.iter().position(|job| job.id == id && scope.includes(job));
            Ok(jobs.remove(at.ok_or_else(|| CronError::NotFound(id.to_owned()))?))
        })
    }
}

fn find<'j>(jobs: &'j mut [Job], id: &str, scope: JobScope<'_>) -> Result<&'j mut Job, CronError> {
    let found = jobs.iter_mut().find(|job| job.id == id && scope.includes(job));
    found.ok_or_else(|| CronError::NotFound(id.to_owned()))
}

fn check(task: &Task) -> Result<(), CronError> {
    let (what, text) = match task {
        Task::Message(text) => ("message", text),
        Task::Command(text) => ("command", text),
    };
    match text.trim() {
        "" => Err(CronError::Invalid(format!("the {what} is empty"))),
        text if text.len() > MAX_TEXT_BYTES => {
            Err(CronError::Invalid(format!("the {what} is longer than {MAX_TEXT_BYTES} bytes")))
        }
        _ => Ok(()),
    }
}

/// The name that was given, else the first 30 characters of the text.
fn name_or_excerpt(given: Option<&str>, task: &Task) -> Result<String, CronError> {
    if let Some(name) = given.map(str::trim).filter(|name| !name.is_empty()) {
        return match name.len() {
            length if length > MAX_NAME_BYTES => {
                Err(CronError::Invalid(format!("the name is longer than {MAX_NAME_BYTES} bytes")))
            }
            _ => Ok(name.to_owned()),
        };
    }
    let (Task::Message(text) | Task::Command(text)) = task;
    Ok(text.trim().chars().take(30).collect())
}

/// 16 hexadecimal digits that no other job has.
fn fresh_id(jobs: &[Job]) -> String {
    loop {
        let id = format!("{:016x}", RandomState::new().build_hasher().finish());
        if jobs.iter().all(|job| job.id != id) {
            return id;
        }
    }
}
