//! The event of a cancellation token: a pipe, for threads that poll.

use crate::launch::cancel::CancelToken;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};

/// Readable once cancelled. Where the kernel gave none, cancellation is noticed before and after
/// each wait.
#[derive(Debug)]
pub(in crate::launch) struct CancelEvent(Option<(PipeReader, PipeWriter)>);

impl Default for CancelEvent {
    fn default() -> Self {
        let pipe = io::pipe().ok();
        Self(pipe.filter(|(_, writer)| rustix::io::ioctl_fionbio(writer, true).is_ok()))
    }
}

impl CancelEvent {
    pub(in crate::launch) fn set(&self) {
        if let Some((_, writer)) = &self.0 {
            // A full pipe is readable as well.
            let _ = rustix::io::write(writer, &[0]);
        }
    }
}

impl CancelToken {
    /// A descriptor that is readable once the token is cancelled.
    pub fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        self.event().0.as_ref().map(|(reader, _)| reader.as_fd())
    }
}
