//! A poll loop over the pipes of a child, so that no pipe blocks another (W43).

use crate::launch::linux::running::Running;
use crate::launch::run::OutputStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The size of the read buffer until a read fills it.
const SMALL_BUFFER: usize = 4 << 10;
/// The size of the read buffer afterwards.
const LARGE_BUFFER: usize = 64 << 10;

type Sink<'s> = &'s mut dyn FnMut(OutputStream, &[u8]);

pub(super) struct PipePump {
    stdin: Option<OwnedFd>,
    input: Vec<u8>,
    written: usize,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl PipePump {
    /// Takes the pipes that the caller has left. Standard input without bytes to write is closed.
    pub(super) fn new(running: &mut Running) -> Self {
        let streams = &mut running.streams;
        let input = std::mem::take(&mut streams.input);
        let stdin = streams.stdin.take().filter(|_| !input.is_empty());
        let stdout = streams.stdout.take().or_else(|| streams.terminal.take());
        Self { stdin, input, written: 0, stdout, stderr: streams.stderr.take(), buffer: Vec::new() }
    }

    /// Waits for one event, until `until` at most, and serves the pipes that are ready.
    pub(super) fn poll(
        &mut self,
        running: &Running,
        cancel: Option<BorrowedFd<'_>>,
        until: Option<Instant>,
        sink: Sink<'_>,
    ) {
        let own = [running.pidfd(), running.report_fd()];
        let mut wanted: Vec<_> = own.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).into();
        for (fd, events) in [
            (self.stdout.as_ref(), PollFlags::IN),
            (self.stderr.as_ref(), PollFlags::IN),
            (self.stdin.as_ref(), PollFlags::OUT),
        ] {
            wanted.extend(fd.map(|fd| PollFd::new(fd, events)));
        }
        wanted.extend(cancel.map(|cancel| PollFd::from_borrowed_fd(cancel, PollFlags::IN)));
        let is_ready = wait(&mut wanted, until);
        let has_work = wanted.iter().skip(own.len()).any(|fd| !fd.revents().is_empty());
        drop(wanted);
        if is_ready && has_work {
            self.serve(sink);
        }
    }

    /// Reads the streams to their end, for `time` at most. The last output of a pseudo-terminal can
    /// become readable after its writer has ended.
    pub(super) fn drain(&mut self, time: Duration, sink: Sink<'_>) {
        let until = Instant::now() + time;
        self.stdin = None;
        while (self.stdout.is_some() || self.stderr.is_some()) && Instant::now() < until {
            if !self.serve(sink) {
                let open = [&self.stdout, &self.stderr].into_iter().flatten();
                let mut fds: Vec<_> = open.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
                wait(&mut fds, Some(until));
            }
        }
    }

    /// One read or write for each pipe; whether any byte was moved.
    fn serve(&mut self, sink: Sink<'_>) -> bool {
        if self.buffer.is_empty() {
            self.buffer.resize(SMALL_BUFFER, 0);
        }
        let stdout = read(&mut self.stdout, &mut self.buffer, OutputStream::Stdout, sink);
        let stderr = read(&mut self.stderr, &mut self.buffer, OutputStream::Stderr, sink);
        stdout | stderr | self.write()
    }

    fn write(&mut self) -> bool {
        let Some(stdin) = &self.stdin else { return false };
        let rest = self.input.get(self.written..).unwrap_or(&[]);
        match rustix::io::write(stdin.as_fd(), rest) {
            Ok(length) => self.written += length,
            Err(Errno::AGAIN | Errno::INTR) => return false,
            // The child has closed its input.
            Err(_) => self.written = self.input.len(),
        }
        if self.written >= self.input.len() {
            self.stdin = None;
        }
        true
    }
}

/// Waits for one of `fds`, until `until` at most; whether one is ready.
fn wait(fds: &mut [PollFd<'_>], until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    poll(fds, left.as_ref()).is_ok_and(|ready| ready > 0)
}

fn read(source: &mut Option<OwnedFd>, buffer: &mut Vec<u8>, stream: OutputStream, sink: Sink<'_>) -> bool {
    let Some(fd) = source else { return false };
    match rustix::io::read(fd.as_fd(), buffer.as_mut_slice()) {
        Ok(length @ 1..) => {
            sink(stream, buffer.get(..length).unwrap_or(&[]));
            if length == buffer.len() {
                buffer.resize(LARGE_BUFFER, 0);
            }
        }
        Err(Errno::AGAIN | Errno::INTR) => return false,
        // A pseudo-terminal whose last user is gone answers with EIO.
        Ok(0) | Err(_) => *source = None,
    }
    true
}
