//! A TCP connection that was permitted.

use crate::permit::OutcomeGuard;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};

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
