//! The background sessions of this program. A session answers only to the agent and session that
//! started it (W37).

use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::broker::CommandNetwork;
use picoclaw_sandbox::exec::Session;
use picoclaw_sandbox::launch::State;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Sessions of one agent, finished ones included (W41).
pub(super) const MAX_SESSIONS: usize = 16;

/// How long a session may run.
pub(super) const SESSION_TIMEOUT: Duration = Duration::from_secs(4 * 3600);

/// How long the output of a finished session is kept.
const FINISHED_RETAINED: Duration = Duration::from_secs(30 * 60);

/// A session and its owner.
#[derive(Debug, Clone)]
pub(super) struct OwnedSession {
    pub(super) session: Arc<Session>,
    pub(super) started_at: u64,
    owner: Owner,
    ended: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    agent: AgentId,
    session: String,
    /// The session of a subagent is not its parent's, also under the same name.
    depth: u32,
}

impl Owner {
    fn of(subject: &Subject) -> Self {
        Self { agent: subject.agent.clone(), session: subject.session.clone(), depth: subject.depth }
    }
}

/// Every background session.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, OwnedSession>>);

impl Sessions {
    /// Whether `subject`'s agent may start another one.
    pub(super) fn has_room(&self, subject: &Subject) -> bool {
        let sessions = self.sessions();
        sessions.values().filter(|owned| owned.owner.agent == subject.agent).count() < MAX_SESSIONS
    }

    /// Adds a session and returns its id.
    pub(super) fn add(&self, session: Session, subject: &Subject) -> String {
        let id = fresh_id();
        let started_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let owned =
            OwnedSession { session: Arc::new(session), started_at, owner: Owner::of(subject), ended: None };
        self.sessions().insert(id.clone(), owned);
        id
    }

    /// The session with that id, if it is `subject`'s own.
    pub(super) fn find(&self, id: &str, subject: &Subject) -> Option<Arc<Session>> {
        let sessions = self.sessions();
        sessions
            .get(id)
            .filter(|owned| owned.owner == Owner::of(subject))
            .map(|owned| Arc::clone(&owned.session))
    }

    /// `subject`'s own sessions, by id.
    pub(super) fn of(&self, subject: &Subject) -> Vec<(String, OwnedSession)> {
        let owner = Owner::of(subject);
        let sessions = self.sessions();
        sessions
            .iter()
            .filter(|(_, owned)| owned.owner == owner)
            .map(|(id, owned)| (id.clone(), owned.clone()))
            .collect()
    }

    /// The network of `subject`'s own sessions, in which its next commands run as well.
    pub(super) fn network(&self, subject: &Subject) -> Option<CommandNetwork> {
        self.of(subject).iter().find_map(|(_, owned)| owned.session.network().cloned())
    }

    /// Removes a session.
    pub(super) fn remove(&self, id: &str) {
        self.sessions().remove(id);
    }

    /// Ends every session of `subject`.
    pub(super) fn end_all(&self, subject: &Subject) {
        let owner = Owner::of(subject);
        // Dropped outside the lock: ending a process tree takes time.
        let ended: Vec<OwnedSession> = {
            let mut sessions = self.sessions();
            let ids: Vec<_> =
                sessions.iter().filter(|(_, owned)| owned.owner == owner).map(|(id, _)| id.clone()).collect();
            ids.iter().filter_map(|id| sessions.remove(id)).collect()
        };
        drop(ended);
    }

    /// The sessions, without those that ended long ago.
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, OwnedSession>> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for owned in sessions.values_mut() {
            if owned.ended.is_none() && matches!(owned.session.state(), State::Ended(_)) {
                owned.ended = Some(Instant::now());
            }
        }
        sessions.retain(|_, owned| owned.ended.is_none_or(|ended| ended.elapsed() < FINISHED_RETAINED));
        sessions
    }
}

/// An id that cannot be guessed: the hasher's keys are random.
fn fresh_id() -> String {
    let word = RandomState::new().build_hasher().finish();
    format!("{word:016x}")
}
