//! The background sessions of this program, each under its owner.
//!
//! Invariant: a session can be named only by the agent and session that started it (W37); their number and life are bounded (W41).

use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::exec::Session;
use picoclaw_sandbox::launch::State;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Sessions that one agent may have at once, finished ones included.
pub(super) const MOST: usize = 16;

/// How long a session may run.
pub(super) const LIFE: Duration = Duration::from_secs(4 * 3600);

/// How long a finished session can still be read.
const KEPT: Duration = Duration::from_secs(30 * 60);

/// A session and whose it is.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) session: Arc<Session>,
    pub(super) started_at: u64,
    owner: Owner,
    ended: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    agent: AgentId,
    session: String,
    /// A subagent's session is not its parent's, whatever it is called.
    depth: u32,
}

impl Owner {
    fn of(subject: &Subject) -> Self {
        Self { agent: subject.agent.clone(), session: subject.session.clone(), depth: subject.depth }
    }
}

/// Every background session.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, Held>>);

impl Sessions {
    /// Whether `subject`'s agent may start another one.
    pub(super) fn has_room(&self, subject: &Subject) -> bool {
        let held = self.held();
        held.values().filter(|held| held.owner.agent == subject.agent).count() < MOST
    }

    /// Keeps a session, and says by which name.
    pub(super) fn keep(&self, session: Session, subject: &Subject) -> String {
        let id = fresh_id();
        let started_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let held = Held { session: Arc::new(session), started_at, owner: Owner::of(subject), ended: None };
        self.held().insert(id.clone(), held);
        id
    }

    /// The session of that name, if it is `subject`'s own.
    pub(super) fn find(&self, id: &str, subject: &Subject) -> Option<Arc<Session>> {
        let held = self.held();
        held.get(id).filter(|held| held.owner == Owner::of(subject)).map(|held| Arc::clone(&held.session))
    }

    /// `subject`'s own sessions, by name.
    pub(super) fn of(&self, subject: &Subject) -> Vec<(String, Held)> {
        let owner = Owner::of(subject);
        let held = self.held();
        held.iter()
            .filter(|(_, held)| held.owner == owner)
            .map(|(id, held)| (id.clone(), held.clone()))
            .collect()
    }

    /// Lets a session go.
    pub(super) fn forget(&self, id: &str) {
        self.held().remove(id);
    }

    /// Ends every session of `subject`'s.
    pub(super) fn drop_of(&self, subject: &Subject) {
        let owner = Owner::of(subject);
        // They are ended outside the lock: each takes as long as its tree takes to die.
        let ended: Vec<Held> = {
            let mut held = self.held();
            let ids: Vec<_> =
                held.iter().filter(|(_, held)| held.owner == owner).map(|(id, _)| id.clone()).collect();
            ids.iter().filter_map(|id| held.remove(id)).collect()
        };
        drop(ended);
    }

    /// The table, with what ended long ago swept out.
    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for held in held.values_mut() {
            if held.ended.is_none() && matches!(held.session.state(), State::Ended(_)) {
                held.ended = Some(Instant::now());
            }
        }
        held.retain(|_, held| held.ended.is_none_or(|ended| ended.elapsed() < KEPT));
        held
    }
}

/// A name that nobody can guess: the hasher's keys are the system's own randomness.
fn fresh_id() -> String {
    let word = RandomState::new().build_hasher().finish();
    format!("{word:016x}")
}
