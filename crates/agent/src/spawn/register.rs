//! What became of the subagents of a session: the truth that `spawn_status` tells.
//!
//! Invariant: a session's register names its own subagents alone, and is bounded.

use super::news::Who;
use super::wording::brief;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many are remembered.
const KEPT: usize = 64;

/// How much of a result is told, in characters.
const TOLD: usize = 500;

/// The subagents of one session, oldest first.
#[derive(Default)]
pub(super) struct Register(Mutex<VecDeque<Arc<Task>>>);

/// One subagent of the background.
pub(super) struct Task {
    who: Who,
    task: String,
    state: Mutex<State>,
}

enum State {
    /// It waits for a place.
    Waiting(Instant),
    Running(Instant),
    Ended(Result<String, String>, Duration),
}

impl Register {
    pub(super) fn add(&self, who: Who, task: &str) -> Arc<Task> {
        let state = Mutex::new(State::Waiting(Instant::now()));
        let task = Arc::new(Task { who, task: brief(task), state });
        let mut tasks = self.tasks();
        if tasks.len() >= KEPT
            && let Some(oldest) = tasks.iter().position(|task| task.has_ended())
        {
            tasks.remove(oldest);
        }
        tasks.push_back(Arc::clone(&task));
        task
    }

    /// Whether nothing here changes any more.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks().iter().all(|task| task.has_ended())
    }

    /// A line for each, or the whole of one; nothing when it is unknown.
    pub(super) fn tell(&self, id: Option<&str>) -> Option<String> {
        let tasks = self.tasks();
        match id {
            Some(id) => tasks.iter().find(|task| task.who.id == id).map(|task| task.tell()),
            None if tasks.is_empty() => Some("No subagents have been spawned yet.".to_owned()),
            None => Some(tasks.iter().map(|task| task.tell()).collect::<Vec<_>>().join("\n")),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, VecDeque<Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    /// It has a place, and begins.
    pub(super) fn runs(&self) {
        *self.state() = State::Running(Instant::now());
    }

    /// It has ended so.
    pub(super) fn ended(&self, how: &Result<String, String>) {
        let mut state = self.state();
        let since = match &*state {
            State::Waiting(since) | State::Running(since) => *since,
            State::Ended(..) => return,
        };
        *state = State::Ended(how.clone(), since.elapsed());
    }

    fn has_ended(&self) -> bool {
        matches!(&*self.state(), State::Ended(..))
    }

    fn tell(&self) -> String {
        let how = match &*self.state() {
            State::Waiting(since) => format!("waiting for a place since {}", seconds(since.elapsed())),
            State::Running(since) => format!("running since {}", seconds(since.elapsed())),
            State::Ended(Ok(answer), took) => format!("completed in {}: {}", seconds(*took), told(answer)),
            State::Ended(Err(why), took) => format!("failed after {}: {}", seconds(*took), told(why)),
        };
        let agent = &self.who.agent;
        if self.who.label == self.who.id {
            format!("{} ({agent}, task: {}): {how}", self.who.id, self.task)
        } else {
            format!("{} '{}' ({agent}, task: {}): {how}", self.who.id, self.who.label, self.task)
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

fn told(text: &str) -> String {
    match text.char_indices().nth(TOLD) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
