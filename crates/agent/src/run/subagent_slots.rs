//! Slots for subagents that run at once (`max_concurrent`), and how many were started
//! (`max_per_turn`, `max_per_session`), shared by all subagents below one user's turn.
//!
//! A subagent that only waits for subagents of its own gives its slot up meanwhile, so that a full
//! set cannot deadlock.

use picoclaw_policy::Subject;
use picoclaw_policy::config::SubturnConfig;
use picoclaw_sandbox::launch::CancelToken;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Sessions whose subagents are counted.
const MAX_SESSIONS: usize = 4096;

/// How many subagents each session has started, by agent and name.
#[derive(Default)]
pub(super) struct SessionCounts(Mutex<BTreeMap<(String, String), u64>>);

impl SessionCounts {
    fn add(&self, session: &(String, String), max: u64) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_SESSIONS && !counts.contains_key(session) {
            // The session with the fewest subagents loses the least.
            let fewest = counts.iter().min_by_key(|(_, count)| **count).map(|(session, _)| session.clone());
            fewest.map(|session| counts.remove(&session));
        }
        let count = counts.entry(session.clone()).or_default();
        let has_room = *count < max;
        *count += u64::from(has_room);
        has_room
    }
}

/// All slots.
pub(crate) struct SubagentSlots {
    free: Arc<Semaphore>,
    count: usize,
    timeout: Duration,
    started: Mutex<u64>,
    max_per_turn: u64,
    max_per_session: u64,
    session: (String, String),
    session_counts: Arc<SessionCounts>,
}

/// One slot, taken.
pub(crate) struct SubagentSlot {
    free: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

impl SubagentSlots {
    /// The slots of a user's turn of `subject`.
    pub(super) fn new(
        config: &SubturnConfig,
        subject: &Subject,
        session_counts: &Arc<SessionCounts>,
    ) -> Arc<Self> {
        let count = usize::try_from(config.max_concurrent).unwrap_or(usize::MAX);
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        let timeout = Duration::from_secs(config.concurrency_timeout_sec);
        Arc::new(Self {
            free: Arc::new(Semaphore::new(count)),
            count,
            timeout,
            started: Mutex::new(0),
            max_per_turn: config.max_per_turn,
            max_per_session: config.max_per_session,
            session: (subject.agent.to_string(), subject.session.clone()),
            session_counts: Arc::clone(session_counts),
        })
    }

    /// Counts a subagent that is to start, if the limits allow one more.
    pub(crate) fn count_start(&self) -> Result<(), String> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let (limit, key) = if *started >= self.max_per_turn {
            (format!("{} subagents were started in this turn", self.max_per_turn), "max_per_turn")
        } else if !self.session_counts.add(&self.session, self.max_per_session) {
            (format!("{} subagents were started in this session", self.max_per_session), "max_per_session")
        } else {
            *started += 1;
            return Ok(());
        };
        Err(format!(
            "sub-turn limit exceeded: {limit} (`agents.defaults.subturn.{key}`); go on without another one"
        ))
    }

    /// Waits for a slot, up to the configured timeout.
    pub(crate) async fn take(&self, halt: &CancelToken) -> Result<Arc<SubagentSlot>, String> {
        let taking = tokio::time::timeout(self.timeout, Arc::clone(&self.free).acquire_owned());
        let taken = tokio::select! {
            biased;
            () = halt.cancelled() => return Err("it was stopped before it began".to_owned()),
            taken = taking => taken,
        };
        match taken {
            Ok(Ok(held)) => {
                Ok(Arc::new(SubagentSlot { free: Arc::clone(&self.free), held: Mutex::new(Some(held)) }))
            }
            Ok(Err(closed)) => Err(closed.to_string()),
            Err(_) => Err(format!(
                "sub-turn concurrency limit exceeded: {} run already (`agents.defaults.subturn.max_concurrent`), and none ended within {} s",
                self.count,
                self.timeout.as_secs()
            )),
        }
    }
}

impl SubagentSlot {
    /// Gives the slot up for the time of a wait.
    pub(super) async fn rest_while<T>(&self, wait: impl Future<Output = T>) -> T {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
        let done = wait.await;
        // The semaphore is never closed.
        if let Ok(held) = Arc::clone(&self.free).acquire_owned().await {
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        }
        done
    }
}
