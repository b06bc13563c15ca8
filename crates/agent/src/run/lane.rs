//! Lanes: how many turns run beside each other, `max_parallel_turns` of them.
//!
//! A person may take a minute to answer, or not be there at all. A turn that asks, itself or through a subagent, gives its
//! lane up meanwhile and takes one again before it goes on: an open question keeps nobody else waiting.
//!
//! Invariant: turns that wait for no person are never more than there are lanes.

use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Every lane there is. Copies are the same.
#[derive(Clone)]
pub(super) struct Lanes(Arc<Semaphore>);

/// The lane of one person's turn, and of the subagents below it.
pub(crate) struct Lane {
    free: Arc<Semaphore>,
    state: Mutex<State>,
    /// One of them fetches it back, and the others wait for that.
    fetching: tokio::sync::Mutex<()>,
}

struct State {
    held: Option<OwnedSemaphorePermit>,
    /// Questions of this turn that are open.
    asking: usize,
}

/// A question that is open; dropped, it no longer is.
struct Asking<'l>(&'l Lane);

impl Lanes {
    /// As many as the configuration says, and at least one.
    pub(super) fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self(Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Waits for a lane; `None` when the turn is stopped before there is one.
    pub(super) async fn take(&self, halt: &CancelToken) -> Option<Arc<Lane>> {
        let held = tokio::select! {
            biased;
            () = halt.cancelled() => return None,
            held = Arc::clone(&self.0).acquire_owned() => held.ok()?,
        };
        Some(Arc::new(Lane {
            free: Arc::clone(&self.0),
            state: Mutex::new(State { held: Some(held), asking: 0 }),
            fetching: tokio::sync::Mutex::default(),
        }))
    }
}

impl Lane {
    /// Waits for a person; the lane is free meanwhile. A turn that is stopped does not wait for it to come back.
    pub(super) async fn free_while<T>(&self, halt: &CancelToken, wait: impl Future<Output = T>) -> T {
        let asking = self.ask();
        let done = wait.await;
        drop(asking);
        tokio::select! {
            biased;
            () = halt.cancelled() => {}
            () = self.fetch() => {}
        }
        done
    }

    fn ask(&self) -> Asking<'_> {
        let mut state = self.state();
        state.asking += 1;
        state.held = None;
        Asking(self)
    }

    async fn fetch(&self) {
        let _alone = self.fetching.lock().await;
        if !self.is_missing() {
            return;
        }
        // The semaphore is never closed.
        if let Ok(held) = Arc::clone(&self.free).acquire_owned().await {
            let mut state = self.state();
            if state.asking == 0 {
                state.held = Some(held);
            }
        }
    }

    /// Whether it must be fetched. While another question of this turn is open, the turn still waits.
    fn is_missing(&self) -> bool {
        let state = self.state();
        state.asking == 0 && state.held.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.state().asking -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn a_lane_is_free_exactly_while_its_turn_waits_for_a_person() {
        let (lanes, halt) = (Lanes::new(1), CancelToken::new());
        let first = lanes.take(&halt).await.unwrap();
        assert_eq!(lanes.0.available_permits(), 0, "it works");
        let (answer, answered) = oneshot::channel::<u8>();
        let (other_answer, other_answered) = oneshot::channel::<u8>();
        let asking = {
            let (lane, halt) = (Arc::clone(&first), halt.clone());
            tokio::spawn(async move { lane.free_while(&halt, answered).await })
        };
        let second = lanes.take(&halt).await.unwrap();
        let subagent = {
            let (lane, halt) = (Arc::clone(&first), halt.clone());
            tokio::spawn(async move { lane.free_while(&halt, other_answered).await })
        };
        tokio::task::yield_now().await;
        other_answer.send(2).unwrap();
        assert_eq!(subagent.await.unwrap(), Ok(2), "the turn still waits for the first answer");
        answer.send(1).unwrap();
        tokio::task::yield_now().await;
        assert!(!asking.is_finished(), "it goes on when there is a lane");
        drop(second);
        assert_eq!(asking.await.unwrap(), Ok(1));
        assert_eq!(lanes.0.available_permits(), 0, "it works again");
        drop(first);
        assert_eq!(lanes.0.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_turn_that_is_stopped_waits_for_no_lane() {
        let (lanes, halt) = (Lanes::new(1), CancelToken::new());
        let first = lanes.take(&halt).await.unwrap();
        let (stopping, never) = (halt.clone(), CancelToken::new());
        let asked = first.free_while(&halt, async {
            let other = lanes.take(&never).await.unwrap();
            stopping.cancel();
            other
        });
        let other = asked.await;
        assert!(first.state().held.is_none(), "the other one has it");
        assert!(lanes.take(&halt).await.is_none(), "and one that is stopped takes none");
        drop((first, other));
        assert_eq!(lanes.0.available_permits(), 1);
    }
}
