//! Sockets on Linux: connecting within a wait limit, and waiting for readiness.

use super::wait_limit::{Readiness, WaitLimit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Connects to an address; the socket is non-blocking.
pub(crate) fn dial(address: SocketAddr, limit: &WaitLimit) -> io::Result<TcpStream> {
    limit.left()?;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            limit.wait(&socket, Readiness::Writable)?;
            sockopt::socket_error(&socket)??;
        }
        Err(why) => return Err(why.into()),
    }
    Ok(TcpStream::from(socket))
}

impl WaitLimit {
    /// Waits until `fd` is ready.
    pub(crate) fn wait(&self, fd: impl AsFd, readiness: Readiness) -> io::Result<()> {
        let events = match readiness {
            Readiness::Readable => PollFlags::IN,
            Readiness::Writable => PollFlags::OUT,
        };
        loop {
            let time = match self.cancel().event_fd() {
                Some(_) => self.left()?,
                None => self.slice()?,
            };
            let mut fds = vec![PollFd::new(&fd, events)];
            fds.extend(self.cancel().event_fd().map(|event| PollFd::from_borrowed_fd(event, PollFlags::IN)));
            // Rounded up to a millisecond: a wait must not spin at its end.
            let time = Timespec::try_from(time.max(Duration::from_millis(1))).map_err(io::Error::other)?;
            match poll(&mut fds, Some(&time)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
            let is_ready = fds.first().is_some_and(|fd| !fd.revents().is_empty());
            self.left()?;
            if is_ready {
                return Ok(());
            }
        }
    }
}
