//! Reads and writes that do not block, whatever the mode of the descriptor.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{Errno, Result};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::termios::isatty;
use std::os::fd::BorrowedFd;

/// As much as a terminal in blocking mode takes when it is ready.
const TERMINAL_WRITE: usize = 256;

/// As much as a pipe in blocking mode takes when it is ready.
const PIPE_WRITE: usize = 4096;

/// Reads what is there; `AGAIN` when that is nothing.
pub(super) fn read_ready(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
    match recv(fd, &mut *buffer, RecvFlags::DONTWAIT) {
        Err(Errno::NOTSOCK) if is_ready(fd, PollFlags::IN) => rustix::io::read(fd, buffer),
        Err(Errno::NOTSOCK) => Err(Errno::AGAIN),
        received => received.map(|(length, _)| length),
    }
}

/// Writes as much as is taken now; `AGAIN` when that is nothing.
pub(super) fn write_ready(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize> {
    match send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Err(Errno::NOTSOCK) if is_ready(fd, PollFlags::OUT) => {
            let is_nonblocking = fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK));
            let most = match isatty(fd) {
                _ if is_nonblocking => bytes.len(),
                true => TERMINAL_WRITE,
                false => PIPE_WRITE,
            };
            rustix::io::write(fd, bytes.get(..most).unwrap_or(bytes))
        }
        Err(Errno::NOTSOCK) => Err(Errno::AGAIN),
        sent => sent,
    }
}

pub(super) fn is_ready(fd: BorrowedFd<'_>, events: PollFlags) -> bool {
    poll(&mut [PollFd::from_borrowed_fd(fd, events)], Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
