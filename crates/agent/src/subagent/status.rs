//! The status of background subagents, for `spawn_status`.

use super::messages::first_words;
use crate::run::SubagentInfo;
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::shortened;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Sessions whose subagents are remembered.
const MAX_SESSIONS: usize = 256;

/// Subagents of one session that are remembered.
const MAX_ENTRIES: usize = 64;

/// The part of a result that is shown, in characters.
const MAX_RESULT_CHARS: usize = 500;

/// The status of every session's subagents.
#[derive(Default)]
pub(super) struct StatusLogs(Mutex<BTreeMap<SessionKey, Arc<StatusLog>>>);

type SessionKey = (AgentId, String, u32);

impl StatusLogs {
    /// The log of the session of `subject`.
    pub(super) fn of(&self, subject: &Subject) -> Arc<StatusLog> {
        let mut logs = self.logs();
        if logs.len() >= MAX_SESSIONS {
            logs.retain(|_, log| !log.is_idle());
        }
        Arc::clone(logs.entry(session_key(subject)).or_default())
    }

    /// Forgets the session of `subject`.
    pub(super) fn remove(&self, subject: &Subject) {
        self.logs().remove(&session_key(subject));
    }

    fn logs(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Arc<StatusLog>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn session_key(subject: &Subject) -> SessionKey {
    (subject.agent.clone(), subject.session.clone(), subject.depth)
}

/// The subagents of one session, oldest first.
#[derive(Default)]
pub(super) struct StatusLog(Mutex<VecDeque<Arc<StatusEntry>>>);

/// The status of one subagent.
pub(super) struct StatusEntry {
    info: SubagentInfo,
    task: String,
    state: Mutex<State>,
}

enum State {
    /// It waits for a slot.
    Waiting(Instant),
    Running(Instant),
    Ended(Result<String, String>, Duration),
}

impl StatusLog {
    /// Adds a subagent that waits for a slot.
    pub(super) fn add(&self, info: SubagentInfo, task: &str) -> Arc<StatusEntry> {
        let state = Mutex::new(State::Waiting(Instant::now()));
        let entry = Arc::new(StatusEntry { info, task: first_words(task), state });
        let mut entries = self.entries();
        if entries.len() >= MAX_ENTRIES
            && let Some(oldest) = entries.iter().position(|entry| entry.has_ended())
        {
            entries.remove(oldest);
        }
        entries.push_back(Arc::clone(&entry));
        entry
    }

    fn is_idle(&self) -> bool {
        self.entries().iter().all(|entry| entry.has_ended())
    }

    /// A line for each subagent, or for the one with this id; `None` when there is none.
    pub(super) fn render(&self, id: Option<&str>) -> Option<String> {
        let entries = self.entries();
        match id {
            Some(id) => entries.iter().find(|entry| entry.info.id == id).map(|entry| entry.render()),
            None if entries.is_empty() => Some("No subagents have been spawned yet.".to_owned()),
            None => Some(entries.iter().map(|entry| entry.render()).collect::<Vec<_>>().join("\n")),
        }
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Arc<StatusEntry>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatusEntry {
    /// It has a slot, and runs.
    pub(super) fn set_running(&self) {
        *self.state() = State::Running(Instant::now());
    }

    /// It has ended.
    pub(super) fn set_ended(&self, result: &Result<String, String>) {
        let mut state = self.state();
        let since = match &*state {
            State::Waiting(since) | State::Running(since) => *since,
            State::Ended(..) => return,
        };
        *state = State::Ended(result.clone(), since.elapsed());
    }

    fn has_ended(&self) -> bool {
        matches!(&*self.state(), State::Ended(..))
    }

    fn render(&self) -> String {
        let state = match &*self.state() {
            State::Waiting(since) => format!("waiting for a place since {}", seconds(since.elapsed())),
            State::Running(since) => format!("running since {}", seconds(since.elapsed())),
            State::Ended(Ok(answer), took) => {
                format!("completed in {}: {}", seconds(*took), shortened(answer, MAX_RESULT_CHARS))
            }
            State::Ended(Err(why), took) => {
                format!("failed after {}: {}", seconds(*took), shortened(why, MAX_RESULT_CHARS))
            }
        };
        let SubagentInfo { id, label, agent, .. } = &self.info;
        if label == id {
            format!("{id} ({agent}, task: {}): {state}", self.task)
        } else {
            format!("{id} '{label}' ({agent}, task: {}): {state}", self.task)
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}
