//! Signals as something to read: for a program that stands between a terminal and its child.
//!
//! Invariant: a watched signal is neither acted on nor lost while the watch lives.

use crate::linux::raw::call;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Signals that arrive in a descriptor instead of interrupting.
#[derive(Debug)]
pub struct SignalWatch {
    fd: OwnedFd,
    before: u64,
}

impl SignalWatch {
    /// Watches these signals; to be made on the main thread before there are others, which would not have them blocked.
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let mask = signals
            .iter()
            .filter(|signal| (1..=64).contains(*signal))
            .fold(0u64, |mask, signal| mask | 1 << (signal - 1));
        let mut before = 0u64;
        // SAFETY: two live masks of the kernel's size, then one of them again.
        let fd = unsafe {
            call!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const mask, &raw mut before, 8).and_then(
                |_| {
                    call!(
                        libc::SYS_signalfd4,
                        -1_i32,
                        &raw const mask,
                        8,
                        libc::SFD_CLOEXEC | libc::SFD_NONBLOCK
                    )
                },
            )
        };
        let fd = fd.map_err(io::Error::from_raw_os_error)?;
        // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, before })
    }

    /// The next signal that has arrived, if any has.
    pub fn next(&self) -> Option<i32> {
        let mut info = [0u8; 128];
        // SAFETY: a signalfd hands out records of 128 bytes, which is what the buffer holds.
        let read = unsafe { call!(libc::SYS_read, self.fd.as_raw_fd(), info.as_mut_ptr(), info.len()) };
        read.ok()?;
        Some(i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))
    }
}

impl AsFd for SignalWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        // SAFETY: a live mask that the kernel itself gave us before.
        let _ = unsafe { call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const self.before, 0, 8) };
    }
}
