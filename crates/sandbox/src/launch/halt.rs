//! A wish to stop, heard at once by whoever waits for a child.
//!
//! Invariant: a raised halt stays raised.

use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Raised by one side, heard by the other; copies are the same wish.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<Wish>);

#[derive(Debug)]
struct Wish {
    is_raised: AtomicBool,
    /// Readable once raised. Without one, a raised halt is still seen before and after each wait.
    event: Option<OwnedFd>,
}

impl Default for Wish {
    fn default() -> Self {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self { is_raised: AtomicBool::new(false), event }
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
    }

    /// Whether somebody asked to stop.
    pub fn is_raised(&self) -> bool {
        self.0.is_raised.load(Ordering::Acquire)
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
}
