//! A cancellation token, for threads that wait and for tasks that await.

use crate::launch::platform::CancelEvent;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// A token that can be cancelled once; clones share one state.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    is_cancelled: AtomicBool,
    /// Set once cancelled, for threads that wait for several things.
    event: CancelEvent,
    wakers: Mutex<Vec<Waker>>,
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the token for good.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Release);
        self.0.event.set();
        let waiting = std::mem::take(&mut *self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Whether two tokens share one state.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until it is cancelled, on any runtime.
    pub async fn cancelled(&self) {
        poll_fn(|context| {
            let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            // Checked under the lock: `cancel` sets the flag before it takes the wakers.
            if self.is_cancelled() {
                return Poll::Ready(());
            }
            if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// What is set once the token is cancelled.
    #[cfg(unix)]
    pub(in crate::launch) fn event(&self) -> &CancelEvent {
        &self.0.event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_reaches_every_clone_and_stays() {
        let token = CancelToken::new();
        let copy = token.clone();
        assert!(!copy.is_cancelled(), "not yet");
        token.cancel();
        token.cancel();
        assert!(copy.is_cancelled(), "cancelled");
    }

    #[test]
    fn a_waiting_task_is_woken_when_it_is_cancelled() {
        struct Woken(AtomicBool);
        impl std::task::Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::Release);
            }
        }
        let (token, woken) = (CancelToken::new(), Arc::new(Woken(AtomicBool::new(false))));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = std::task::Context::from_waker(&waker);
        let mut waiting = Box::pin(token.cancelled());
        for _ in 0..3 {
            assert!(waiting.as_mut().poll(&mut context).is_pending(), "not yet");
        }
        assert_eq!(token.0.wakers.lock().unwrap().len(), 1, "polling again registers no second waker");
        token.cancel();
        assert!(woken.0.load(Ordering::Acquire));
        assert!(waiting.as_mut().poll(&mut context).is_ready());
        assert!(Box::pin(token.cancelled()).as_mut().poll(&mut context).is_ready(), "and stays cancelled");
    }
}
