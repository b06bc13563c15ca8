//! TCP connections: opening one, and one that was permitted.

use super::wait_limit::WaitLimit;
use crate::permit::OutcomeGuard;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};

/// Connects to an address; the socket is non-blocking.
pub(super) fn dial(address: SocketAddr, limit: &WaitLimit) -> io::Result<TcpStream> {
    limit.left()?;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            limit.wait(&socket, PollFlags::OUT)?;
            sockopt::socket_error(&socket)??;
        }
        Err(why) => return Err(why.into()),
    }
    Ok(TcpStream::from(socket))
}

/// Whether a connection to this address is made: what `picoclaw doctor` tries in its cage.
pub fn can_connect(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}

/// A permitted connection. Its outcome is recorded once, also when it is dropped.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    outcome: Option<OutcomeGuard>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, outcome: OutcomeGuard) -> Self {
        Self { stream, outcome: Some(outcome) }
    }

    /// The connected, non-blocking socket. The caller keeps reads and writes within a deadline.
    pub fn socket(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Closes it and records the outcome.
    pub fn close(mut self, outcome: &str) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: &str) {
        // The peer may have closed it before.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(guard) = self.outcome.take() {
            guard.settle_as(outcome);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.settle("broken off");
    }
}
