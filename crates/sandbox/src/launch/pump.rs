//! The pipes of a child, served together: none of them can hold up another (W43).
//!
//! Invariant: memory does not grow with what flows through.

use crate::launch::running::Running;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Which way a piece of output came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// One read's worth, until a command turns out to say more.
const SMALL: usize = 4 << 10;
/// One read's worth of a command that says much.
const LARGE: usize = 64 << 10;

type Sink<'s> = &'s mut dyn FnMut(Stream, &[u8]);

pub(super) struct Pump {
    stdin: Option<OwnedFd>,
    feed: Vec<u8>,
    fed: usize,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl Pump {
    /// Takes the pipes that the caller has left; input that nobody will write any more ends at once.
    pub(super) fn new(running: &mut Running) -> Self {
        let ours = &mut running.ours;
        let feed = std::mem::take(&mut ours.feed);
        let stdin = ours.stdin.take().filter(|_| !feed.is_empty());
        let stdout = ours.stdout.take().or_else(|| ours.terminal.take());
        Self { stdin, feed, fed: 0, stdout, stderr: ours.stderr.take(), buffer: Vec::new() }
    }

    /// Waits for one event, until `until` at most, and serves what is ready.
    pub(super) fn turn(
        &mut self,
        running: &Running,
        halt: Option<BorrowedFd<'_>>,
        until: Option<Instant>,
        sink: Sink<'_>,
    ) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let time = left.and_then(|left| Timespec::try_from(left).ok());
        let own = [running.handle.pidfd(), running.handle.news()];
        let mut wanted: Vec<_> = own.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).into();
        for (fd, events) in [
            (self.stdout.as_ref(), PollFlags::IN),
            (self.stderr.as_ref(), PollFlags::IN),
            (self.stdin.as_ref(), PollFlags::OUT),
        ] {
            wanted.extend(fd.map(|fd| PollFd::new(fd, events)));
        }
        wanted.extend(halt.map(|halt| PollFd::from_borrowed_fd(halt, PollFlags::IN)));
        let ready = poll(&mut wanted, time.as_ref()).is_ok_and(|ready| ready > 0);
        let has_work = wanted.iter().skip(own.len()).any(|fd| !fd.revents().is_empty());
        drop(wanted);
        if ready && has_work {
            self.serve(sink);
        }
    }

    /// Reads what is left in the pipes, for `time` at most.
    pub(super) fn drain(&mut self, time: Duration, sink: Sink<'_>) {
        let until = Instant::now() + time;
        self.stdin = None;
        while Instant::now() < until && self.serve(sink) {}
    }

    /// One piece from and to each pipe; whether anything moved.
    fn serve(&mut self, sink: Sink<'_>) -> bool {
        // A command that says nothing, and most say little, costs no buffer.
        if self.buffer.is_empty() {
            self.buffer.resize(SMALL, 0);
        }
        let stdout = read(&mut self.stdout, &mut self.buffer, Stream::Stdout, sink);
        let stderr = read(&mut self.stderr, &mut self.buffer, Stream::Stderr, sink);
        stdout | stderr | self.write()
    }

    fn write(&mut self) -> bool {
        let Some(stdin) = &self.stdin else { return false };
        let rest = self.feed.get(self.fed..).unwrap_or(&[]);
        match rustix::io::write(stdin.as_fd(), rest) {
            Ok(length) => self.fed += length,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return false,
            // Nobody reads it any more.
            Err(_) => self.fed = self.feed.len(),
        }
        if self.fed >= self.feed.len() {
            self.stdin = None;
        }
        true
    }
}

fn read(source: &mut Option<OwnedFd>, buffer: &mut Vec<u8>, stream: Stream, sink: Sink<'_>) -> bool {
    let Some(fd) = source else { return false };
    match rustix::io::read(fd.as_fd(), buffer.as_mut_slice()) {
        Ok(length @ 1..) => {
            sink(stream, buffer.get(..length).unwrap_or(&[]));
            if length == buffer.len() {
                buffer.resize(LARGE, 0);
            }
        }
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return false,
        // A terminal whose last user is gone answers with an error.
        Ok(0) | Err(_) => *source = None,
    }
    true
}
