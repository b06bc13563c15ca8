//! A wish to stop, heard at once by whoever waits for a child.
//!
//! Invariant: a raised halt stays raised.

use rustix::event::{EventfdFlags, eventfd};
use std::future::poll_fn;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// Raised by one side, heard by the other; copies are the same wish.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<Wish>);

#[derive(Debug)]
struct Wish {
    is_raised: AtomicBool,
    /// Readable once raised. Without one, a raised halt is still seen before and after each wait.
    event: Option<OwnedFd>,
    /// Tasks that wait for it.
    wakers: Mutex<Vec<Waker>>,
}

impl Default for Wish {
    fn default() -> Self {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self { is_raised: AtomicBool::new(false), event, wakers: Mutex::default() }
    }
}

impl Halt {
    /// Not raised yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everything that listens to stop.
    pub fn raise(&self) {
        self.0.is_raised.store(true, Ordering::Release);
        if let Some(event) = &self.0.event {
            // A counter that is full is readable as well.
            let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
        }
        let waiting = std::mem::take(&mut *self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Whether somebody asked to stop.
    pub fn is_raised(&self) -> bool {
        self.0.is_raised.load(Ordering::Acquire)
    }

    /// Whether the two are copies of the same wish.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until it is raised, on whatever runtime the caller has.
    pub async fn raised(&self) {
        poll_fn(|context| {
            let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            // Looked at under the lock: raising sets it before it takes the wakers.
            if self.is_raised() {
                return Poll::Ready(());
            }
            if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Becomes readable when it is raised.
    pub fn event(&self) -> Option<BorrowedFd<'_>> {
        self.0.event.as_ref().map(AsFd::as_fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[test]
    fn a_raised_halt_is_heard_by_every_copy_and_stays_raised() {
        let halt = Halt::new();
        let copy = halt.clone();
        let is_readable = |halt: &Halt| {
            let mut fds = [PollFd::from_borrowed_fd(halt.event().unwrap(), PollFlags::IN)];
            poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
        };
        assert!(!copy.is_raised() && !is_readable(&copy), "nobody asked yet");
        halt.raise();
        halt.raise();
        assert!(copy.is_raised() && is_readable(&copy), "heard");
        assert!(is_readable(&copy), "and again");
    }

    #[test]
    fn a_waiting_task_is_woken_when_it_is_raised() {
        struct Woken(AtomicBool);
        impl std::task::Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::Release);
            }
        }
        let (halt, woken) = (Halt::new(), Arc::new(Woken(AtomicBool::new(false))));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = std::task::Context::from_waker(&waker);
        let mut waiting = Box::pin(halt.raised());
        for _ in 0..3 {
            assert!(waiting.as_mut().poll(&mut context).is_pending(), "not yet");
        }
        assert_eq!(halt.0.wakers.lock().unwrap().len(), 1, "asking again does not pile up");
        halt.raise();
        assert!(woken.0.load(Ordering::Acquire));
        assert!(waiting.as_mut().poll(&mut context).is_ready());
        assert!(Box::pin(halt.raised()).as_mut().poll(&mut context).is_ready(), "and stays raised");
    }
}
