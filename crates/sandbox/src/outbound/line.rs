//! A connection that was permitted and made.
//!
//! Invariant: no read and no write outlasts its bound; how it went is recorded once, also when it is dropped.

use super::bound::Bound;
use crate::permit::Settling;
use rustix::event::PollFlags;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

/// A connection to a host that was judged.
#[derive(Debug)]
pub struct Line {
    stream: TcpStream,
    bound: Bound,
    settling: Option<Settling>,
}

impl Line {
    pub(super) fn new(stream: TcpStream, bound: Bound, settling: Settling) -> Self {
        Self { stream, bound, settling: Some(settling) }
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

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        patient(&self.bound, &self.stream, PollFlags::IN, |mut stream| stream.read(buffer))
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        patient(&self.bound, &self.stream, PollFlags::OUT, |mut stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tries, and waits as long as there is nothing to be had. The bound is looked at before each try as well: a
/// server that always has one more byte is not waited for, and still ends.
pub(super) fn patient<'s>(
    bound: &Bound,
    stream: &'s TcpStream,
    events: PollFlags,
    mut attempt: impl FnMut(&'s TcpStream) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        bound.left()?;
        match attempt(stream) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => bound.wait(stream, events)?,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
