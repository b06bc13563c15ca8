//! Slots for subagents that run at once (`max_concurrent`), shared by all subagents below one user's turn.
//!
//! A subagent that only waits for subagents of its own gives its slot up meanwhile, so that a full set cannot deadlock.

use picoclaw_policy::config::SubturnConfig;
use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All slots.
pub(crate) struct SubagentSlots {
    free: Arc<Semaphore>,
    count: usize,
    timeout: Duration,
}

/// One slot, taken.
pub(crate) struct SubagentSlot {
    free: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

impl SubagentSlots {
    pub(super) fn new(config: &SubturnConfig) -> Arc<Self> {
        let count = usize::try_from(config.max_concurrent).unwrap_or(usize::MAX);
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        let timeout = Duration::from_secs(config.concurrency_timeout_sec);
        Arc::new(Self { free: Arc::new(Semaphore::new(count)), count, timeout })
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
