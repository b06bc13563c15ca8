//! What people and agents do to jobs: add, change, switch, remove.
//!
//! Invariant: an agent finds its own jobs alone, whatever it wants to do with them.

use super::error::CronError;
use super::job::{Job, Payload, State, Task};
use super::schedule::{Kind, Schedule};
use super::store::Store;
use picoclaw_policy::AgentId;
use serde_json::Map;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Jobs that one agent may have.
const MOST: usize = 200;

/// The longest name.
const NAME: usize = 200;

/// The longest message or command.
const TEXT: usize = 64 << 10;

/// Whose jobs are meant.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// Everybody's: the operator asks.
    Everybodys,
    /// An agent's own.
    Own(&'a AgentId),
}

/// A job to be.
#[derive(Debug, Clone)]
pub struct Added {
    /// Its name; the beginning of its text otherwise.
    pub name: Option<String>,
    /// Whose it will be.
    pub agent: AgentId,
    /// What.
    pub task: Task,
    /// When.
    pub schedule: Schedule,
}

/// What becomes different; what is left out stays.
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
}

/// Whether a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It does.
    On,
    /// It does not.
    Off,
}

impl Whose<'_> {
    /// Whether this job is one of them.
    pub fn includes(&self, job: &Job) -> bool {
        match self {
            Self::Everybodys => true,
            Self::Own(agent) => job.agent == agent.as_str(),
        }
    }
}

impl Store {
    /// The jobs that are meant.
    pub fn list(&self, whose: Whose<'_>) -> Result<Vec<Job>, CronError> {
        Ok(self.read()?.into_iter().filter(|job| whose.includes(job)).collect())
    }

    /// One of them.
    pub fn get(&self, id: &str, whose: Whose<'_>) -> Result<Job, CronError> {
        let found = self.list(whose)?.into_iter().find(|job| job.id == id);
        found.ok_or_else(|| CronError::NotFound(id.to_owned()))
    }

    /// Makes a job.
    pub fn add(&self, added: Added, now_ms: i64) -> Result<Job, CronError> {
        check(&added.task)?;
        let next = added.schedule.next(now_ms, None)?.ok_or(CronError::Never)?;
        let name = named(added.name.as_deref(), &added.task)?;
        self.edit(|jobs| {
            if jobs.iter().filter(|job| job.agent == added.agent.as_str()).count() >= MOST {
                return Err(CronError::Misfit(format!("there are {MOST} jobs already; remove one first")));
            }
            let job = Job {
                id: fresh_id(jobs),
                name,
                enabled: true,
                agent: added.agent.to_string(),
                delete_after_run: added.schedule.kind == Kind::At,
                schedule: added.schedule,
                payload: Payload::of(added.task),
                state: State { next_run_at_ms: Some(next), ..State::default() },
                created_at_ms: now_ms,
                updated_at_ms: now_ms,
                rest: Map::new(),
            };
            jobs.push(job.clone());
            Ok(job)
        })
    }

    /// Changes a job.
    pub fn update(&self, id: &str, change: Change, whose: Whose<'_>, now_ms: i64) -> Result<Job, CronError> {
        change.task.as_ref().map_or(Ok(()), check)?;
        self.edit(|jobs| {
            let job = find(jobs, id, whose)?;
            if let Some(name) = &change.name {
                job.name = named(Some(name), &job.task())?;
            }
            if let Some(task) = change.task {
                let rest = std::mem::take(&mut job.payload.rest);
                job.payload = Payload { rest, ..Payload::of(task) };
            }
            let reschedules = change.schedule.is_some() || change.enabled == Some(Switch::On);
            if let Some(schedule) = change.schedule {
                job.delete_after_run = schedule.kind == Kind::At;
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

    /// Switches a job on or off.
    pub fn switch(&self, id: &str, to: Switch, whose: Whose<'_>, now_ms: i64) -> Result<Job, CronError> {
        self.update(id, Change { enabled: Some(to), ..Change::default() }, whose, now_ms)
    }

    /// Removes a job. A run that is under way comes to its end.
    pub fn remove(&self, id: &str, whose: Whose<'_>) -> Result<Job, CronError> {
        self.edit(|jobs| {
            let at = jobs.iter().position(|job| job.id == id && whose.includes(job));
            Ok(jobs.remove(at.ok_or_else(|| CronError::NotFound(id.to_owned()))?))
        })
    }
}

fn find<'j>(jobs: &'j mut [Job], id: &str, whose: Whose<'_>) -> Result<&'j mut Job, CronError> {
    let found = jobs.iter_mut().find(|job| job.id == id && whose.includes(job));
    found.ok_or_else(|| CronError::NotFound(id.to_owned()))
}

fn check(task: &Task) -> Result<(), CronError> {
    let (what, text) = match task {
        Task::Message(text) => ("message", text),
        Task::Command(text) => ("command", text),
    };
    match text.trim() {
        "" => Err(CronError::Misfit(format!("the {what} is empty"))),
        text if text.len() > TEXT => {
            Err(CronError::Misfit(format!("the {what} is longer than {TEXT} bytes")))
        }
        _ => Ok(()),
    }
}

/// The name that was given, else the first 30 characters of the text.
fn named(given: Option<&str>, task: &Task) -> Result<String, CronError> {
    if let Some(name) = given.map(str::trim).filter(|name| !name.is_empty()) {
        return match name.len() {
            length if length > NAME => {
                Err(CronError::Misfit(format!("the name is longer than {NAME} bytes")))
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
