//! Places for subagents that run at once: `max_concurrent`, shared by everybody below one person's turn.
//!
//! Whoever only waits for a subagent of its own gives its place up meanwhile, so that a full house cannot lock itself.
//!
//! Invariant: no more subagents think at once than there are places.

use picoclaw_policy::config::SubturnConfig;
use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Every place there is.
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    most: usize,
    patience: Duration,
}

/// One place, taken.
pub(crate) struct Slot {
    free: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Slots {
    pub(super) fn new(config: &SubturnConfig) -> Arc<Self> {
        let most = usize::try_from(config.max_concurrent).unwrap_or(usize::MAX);
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let patience = Duration::from_secs(config.concurrency_timeout_sec);
        Arc::new(Self { free: Arc::new(Semaphore::new(most)), most, patience })
    }

    /// Waits for a place, as long as the configuration says.
    pub(super) async fn take(&self, halt: &CancelToken) -> Result<Arc<Slot>, String> {
        let taking = tokio::time::timeout(self.patience, Arc::clone(&self.free).acquire_owned());
        let taken = tokio::select! {
            biased;
            () = halt.cancelled() => return Err("it was stopped before it began".to_owned()),
            taken = taking => taken,
        };
        match taken {
            Ok(Ok(held)) => Ok(Arc::new(Slot { free: Arc::clone(&self.free), held: Mutex::new(Some(held)) })),
            Ok(Err(closed)) => Err(closed.to_string()),
            Err(_) => Err(format!(
                "sub-turn concurrency limit exceeded: {} run already (`agents.defaults.subturn.max_concurrent`), and none ended within {} s",
                self.most,
                self.patience.as_secs()
            )),
        }
    }
}

impl Slot {
    /// Gives the place up for the time of a wait.
    pub(super) async fn rest_while<T>(&self, wait: impl Future<Output = T>) -> T {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
        let done = wait.await;
        // The semaphore is never closed; without a place it goes on all the same, and is cut by its own time.
        if let Ok(held) = Arc::clone(&self.free).acquire_owned().await {
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        }
        done
    }
}
