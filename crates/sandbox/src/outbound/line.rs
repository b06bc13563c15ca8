//! A connection that was permitted and made.
//!
//! Invariant: how it went is recorded once, also when it is dropped.

use crate::permit::Settling;
use std::io;
use std::net::{Shutdown, TcpStream};

/// A connection to a host that was judged.
#[derive(Debug)]
pub struct Line {
    stream: TcpStream,
    settling: Option<Settling>,
}

impl Line {
    pub(super) fn new(stream: TcpStream, settling: Settling) -> Self {
        Self { stream, settling: Some(settling) }
    }

    /// The connected, non-blocking socket. The caller holds reads and writes to a deadline.
    pub fn socket(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Ends it, and records how it went.
    pub fn close(mut self, outcome: &str) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: &str) {
        // It is given up either way; that the other side was quicker is no news.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(settling) = self.settling.take() {
            settling.settle_as(outcome);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.settle("broken off");
    }
}
