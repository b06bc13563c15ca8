//! Slots for turns that run in parallel (`max_parallel_turns`).
//!
//! A turn that waits for approval, itself or through a subagent, gives its slot up meanwhile and
//! takes one again before it goes on: an open question does not block other turns.

use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All slots. Clones share them.
#[derive(Clone)]
pub(super) struct TurnSlots(Arc<Semaphore>);

/// The slot of one user's turn and of the subagents below it.
pub(crate) struct TurnSlot {
    free: Arc<Semaphore>,
    state: Mutex<State>,
    /// Held while one of them takes the slot again; the others wait for that.
    reacquiring: tokio::sync::Mutex<()>,
}

struct State {
    held: Option<OwnedSemaphorePermit>,
    /// Open questions of this turn.
    questions: usize,
}

/// An open question. The slot is free until the last one is dropped.
struct PausedForApproval<'s>(&'s TurnSlot);

impl TurnSlots {
    /// At least one slot.
    pub(super) fn new(count: u64) -> Self {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Self(Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Waits for a slot; `None` when the turn is cancelled first.
    pub(super) async fn take(&self, halt: &CancelToken) -> Option<Arc<TurnSlot>> {
        let held = tokio::select! {
            biased;
            () = halt.cancelled() => return None,
            held = Arc::clone(&self.0).acquire_owned() => held.ok()?,
        };
        Some(Arc::new(TurnSlot {
            free: Arc::clone(&self.0),
            state: Mutex::new(State { held: Some(held), questions: 0 }),
            reacquiring: tokio::sync::Mutex::default(),
        }))
    }
}

impl TurnSlot {
    /// Waits for a person; the slot is free meanwhile. A cancelled turn does not wait for a slot
    /// again.
    pub(super) async fn free_while<T>(&self, halt: &CancelToken, wait: impl Future<Output = T>) -> T {
        let paused = self.pause();
        let done = wait.await;
        drop(paused);
        tokio::select! {
            biased;
            () = halt.cancelled() => {}
            () = self.reacquire() => {}
        }
        done
    }

    fn pause(&self) -> PausedForApproval<'_> {
        let mut state = self.state();
        state.questions += 1;
        state.held = None;
        PausedForApproval(self)
    }

    async fn reacquire(&self) {
        let _guard = self.reacquiring.lock().await;
        if !self.is_missing() {
            return;
        }
        // The semaphore is never closed.
        if let Ok(held) = Arc::clone(&self.free).acquire_owned().await {
            let mut state = self.state();
            if state.questions == 0 {
                state.held = Some(held);
            }
        }
    }

    /// Whether the slot must be taken again. While another question of this turn is open, it stays
    /// free.
    fn is_missing(&self) -> bool {
        let state = self.state();
        state.questions == 0 && state.held.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PausedForApproval<'_> {
    fn drop(&mut self) {
        self.0.state().questions -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn a_lane_is_free_exactly_while_its_turn_waits_for_a_person() {
        let (slots, halt) = (TurnSlots::new(1), CancelToken::new());
        let first = slots.take(&halt).await.unwrap();
        assert_eq!(slots.0.available_permits(), 0, "it works");
        let (answer, answered) = oneshot::channel::<u8>();
        let (other_answer, other_answered) = oneshot::channel::<u8>();
        let asking = {
            let (slot, halt) = (Arc::clone(&first), halt.clone());
            tokio::spawn(async move { slot.free_while(&halt, answered).await })
        };
        let second = slots.take(&halt).await.unwrap();
        let subagent = {
            let (slot, halt) = (Arc::clone(&first), halt.clone());
            tokio::spawn(async move { slot.free_while(&halt, other_answered).await })
        };
        tokio::task::yield_now().await;
        other_answer.send(2).unwrap();
        assert_eq!(subagent.await.unwrap(), Ok(2), "the turn still waits for the first answer");
        answer.send(1).unwrap();
        tokio::task::yield_now().await;
        assert!(!asking.is_finished(), "it goes on when there is a slot");
        drop(second);
        assert_eq!(asking.await.unwrap(), Ok(1));
        assert_eq!(slots.0.available_permits(), 0, "it works again");
        drop(first);
        assert_eq!(slots.0.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_turn_that_is_stopped_waits_for_no_lane() {
        let (slots, halt) = (TurnSlots::new(1), CancelToken::new());
        let first = slots.take(&halt).await.unwrap();
        let (stopping, never) = (halt.clone(), CancelToken::new());
        let asked = first.free_while(&halt, async {
            let other = slots.take(&never).await.unwrap();
            stopping.cancel();
            other
        });
        let other = asked.await;
        assert!(first.state().held.is_none(), "the other one has it");
        assert!(slots.take(&halt).await.is_none(), "and one that is stopped takes none");
        drop((first, other));
        assert_eq!(slots.0.available_permits(), 1);
    }
}
