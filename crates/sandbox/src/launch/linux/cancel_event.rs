//! The event of a cancellation token: an eventfd, for threads that poll.

use crate::launch::cancel::CancelToken;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Readable once cancelled. Where the kernel gave none, cancellation is noticed before and after
/// each wait.
#[derive(Debug)]
pub(in crate::launch) struct CancelEvent(Option<OwnedFd>);

impl Default for CancelEvent {
    fn default() -> Self {
        Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok())
    }
}

impl CancelEvent {
    pub(in crate::launch) fn set(&self) {
        if let Some(event) = &self.0 {
            // A full counter is readable as well.
            let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
        }
    }
}

impl CancelToken {
    /// A descriptor that is readable once the token is cancelled.
    pub fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        self.event().0.as_ref().map(AsFd::as_fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[test]
    fn the_descriptor_of_every_clone_is_readable_once_cancelled() {
        let token = CancelToken::new();
        let copy = token.clone();
        let is_readable = |token: &CancelToken| {
            let mut fds = [PollFd::from_borrowed_fd(token.event_fd().unwrap(), PollFlags::IN)];
            poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
        };
        assert!(!is_readable(&copy), "not yet");
        token.cancel();
        token.cancel();
        assert!(is_readable(&copy), "cancelled");
        assert!(is_readable(&copy), "and again");
    }
}
