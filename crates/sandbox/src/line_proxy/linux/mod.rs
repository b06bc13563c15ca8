//! The proxy on Linux: one poll loop over all streams.

mod write_buffer;

use super::{FilterOutput, LineFilter, MAX_LINE, MAX_STDERR_LINE, StderrPrefixes, stderr_line};
use crate::bounded_lines::{BoundedLines, Line};
use crate::launch::{Running, Status};
use crate::terminal::{poll_fd, poll_until};
use picoclaw_sys::linux::{SignalFd, stop_self};
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, read};
use rustix::process::Signal;
use rustix::stdio::{stderr, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};
use write_buffer::{ATOMIC_WRITE, WriteBuffer};

/// How long a child may run after its host has closed its output, and how long its last output is
/// passed on.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a child may take to end when it is told to.
const END_TIMEOUT: Duration = Duration::from_millis(2_600);

/// Proxies lines between the host and the child until the child ends.
pub fn proxy_lines(
    running: &mut Running,
    signals: &SignalFd,
    filter: &mut dyn LineFilter,
    prefixes: StderrPrefixes<'_>,
) -> Status {
    let mut proxy = ProxyState::new(running, filter, prefixes);
    loop {
        if let Some(status) = running.poll() {
            proxy.drain();
            return status;
        }
        if running.take_stop().is_some() {
            stop_self();
            running.signal(Signal::CONT);
        }
        if let Some(status) = proxy.end_child(running) {
            return status;
        }
        proxy.poll(Some((running, signals)));
        while let Some(signal) = signals.next() {
            match signal {
                // This process stops after the child has, as in `terminal::wait`.
                Signal::TSTP => running.signal(Signal::STOP),
                Signal::WINCH | Signal::CONT => {}
                other => running.signal(other),
            }
        }
    }
}

struct ProxyState<'p> {
    filter: &'p mut dyn LineFilter,
    prefixes: StderrPrefixes<'p>,
    host: HostState,
    from_host: BoundedLines,
    to_host: WriteBuffer,
    child_in: Option<OwnedFd>,
    to_child: WriteBuffer,
    child_out: Option<OwnedFd>,
    from_child: BoundedLines,
    child_err: Option<OwnedFd>,
    stderr_lines: BoundedLines,
    to_stderr: WriteBuffer,
    is_stderr_open: bool,
    buffer: Vec<u8>,
}

/// The host, and when it changed to this state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostState {
    Open,
    /// It writes nothing more and still reads.
    InputClosed(Instant),
    /// It does not read any more.
    Gone(Instant),
    /// The child was told to end, and must have ended at this time.
    Ending(Instant),
}

/// What a polled descriptor is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    HostIn,
    HostOut,
    ChildIn,
    ChildOut,
    ChildErr,
    Stderr,
    Event,
}

impl<'p> ProxyState<'p> {
    fn new(running: &mut Running, filter: &'p mut dyn LineFilter, prefixes: StderrPrefixes<'p>) -> Self {
        Self {
            filter,
            prefixes,
            host: HostState::Open,
            from_host: BoundedLines::new(MAX_LINE),
            to_host: WriteBuffer::default(),
            child_in: running.take_stdin(),
            to_child: WriteBuffer::default(),
            child_out: running.take_stdout(),
            from_child: BoundedLines::new(MAX_LINE),
            child_err: running.take_stderr(),
            stderr_lines: BoundedLines::new(MAX_STDERR_LINE),
            to_stderr: WriteBuffer::default(),
            is_stderr_open: true,
            buffer: vec![0; 64 << 10],
        }
    }

    /// Ends a child whose host is gone, or that has closed its output; a status when it does not
    /// end.
    fn end_child(&mut self, running: &Running) -> Option<Status> {
        let now = Instant::now();
        let is_output_closed = self.child_out.is_none() && self.to_host.is_empty();
        match self.host {
            HostState::Open if is_output_closed => self.host = HostState::InputClosed(now),
            HostState::Open => {}
            HostState::InputClosed(since) => {
                let is_settled = self.to_child.is_empty() && !self.filter.is_waiting();
                let is_late = now >= since + CLOSE_TIMEOUT;
                if is_settled || is_late {
                    // A server ends when its input is closed.
                    self.child_in = None;
                }
                if is_late {
                    self.host = HostState::Gone(now);
                }
            }
            HostState::Gone(since) => {
                self.child_in = None;
                running.end();
                self.host = HostState::Ending(since + END_TIMEOUT);
            }
            HostState::Ending(until) if now >= until => return Some(Status::Halted),
            HostState::Ending(_) => {}
        }
        None
    }

    /// When [`ProxyState::end_child`] has something to do next.
    fn until(&self) -> Option<Instant> {
        match self.host {
            HostState::Open => None,
            HostState::InputClosed(since) => Some(since + CLOSE_TIMEOUT),
            HostState::Gone(since) => Some(since),
            HostState::Ending(until) => Some(until),
        }
    }

    fn is_host_reading(&self) -> bool {
        matches!(self.host, HostState::Open | HostState::InputClosed(_))
    }

    /// Passes on the last output of a child that has ended.
    fn drain(&mut self) {
        let until = Instant::now() + CLOSE_TIMEOUT;
        self.child_in = None;
        if self.host == HostState::Open {
            self.host = HostState::InputClosed(until);
        }
        // The whole tree has ended, so its pipes have no writers.
        while Instant::now() < until {
            let is_unread = self.child_out.is_some() || self.child_err.is_some();
            let is_unwritten = !self.to_host.is_empty() || !self.to_stderr.is_empty();
            if !is_unread && !is_unwritten {
                return;
            }
            self.poll(None);
        }
    }

    /// Waits for an event, and serves the descriptors that are ready.
    fn poll(&mut self, events: Option<(&Running, &SignalFd)>) {
        let mut sources = Vec::with_capacity(8);
        let (own_in, own_out, own_err) = (stdin(), stdout(), stderr());
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(8);
        let mut add = |source, fd, flags| {
            sources.push(source);
            fds.push(poll_fd(fd, flags));
        };
        let out_if_queued =
            |buffer: &WriteBuffer| if buffer.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        if let Some((running, signals)) = events {
            for fd in [running.pidfd(), running.report_fd(), signals.as_fd()] {
                add(Source::Event, fd, PollFlags::IN);
            }
        }
        if self.host == HostState::Open && !self.to_child.is_full() && !self.to_host.is_full() {
            add(Source::HostIn, own_in, PollFlags::IN);
        }
        if self.is_host_reading() {
            add(Source::HostOut, own_out, out_if_queued(&self.to_host));
        }
        if let Some(fd) = &self.child_in {
            add(Source::ChildIn, fd.as_fd(), out_if_queued(&self.to_child));
        }
        if let Some(fd) = self.child_out.as_ref().filter(|_| !self.to_host.is_full()) {
            add(Source::ChildOut, fd.as_fd(), PollFlags::IN);
        }
        if let Some(fd) = self.child_err.as_ref().filter(|_| !self.to_stderr.is_full()) {
            add(Source::ChildErr, fd.as_fd(), PollFlags::IN);
        }
        if self.is_stderr_open && !self.to_stderr.is_empty() {
            add(Source::Stderr, own_err, PollFlags::OUT);
        }
        let until = if events.is_some() { self.until() } else { Some(Instant::now() + CLOSE_TIMEOUT) };
        poll_until(&mut fds, until);
        let ready: Vec<_> = sources.into_iter().zip(fds.iter().map(PollFd::revents)).collect();
        for (source, flags) in ready.into_iter().filter(|(_, flags)| !flags.is_empty()) {
            self.serve(source, flags);
        }
    }

    fn serve(&mut self, source: Source, flags: PollFlags) {
        let is_broken = flags.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        match source {
            Source::Event => {}
            Source::HostIn => self.read_host(),
            Source::ChildOut => self.read_child(),
            Source::ChildErr => self.read_child_stderr(),
            Source::HostOut => {
                let is_writable = flags.contains(PollFlags::OUT);
                if is_broken || (is_writable && self.to_host.write_to(stdout(), ATOMIC_WRITE).is_err()) {
                    self.to_host.clear();
                    self.host = HostState::Gone(Instant::now());
                }
            }
            Source::ChildIn => {
                let written = self.child_in.as_ref().map(|fd| self.to_child.write_to(fd.as_fd(), usize::MAX));
                if is_broken || matches!(written, Some(Err(_))) {
                    self.to_child.clear();
                    self.child_in = None;
                }
            }
            Source::Stderr => {
                if is_broken || self.to_stderr.write_to(stderr(), ATOMIC_WRITE).is_err() {
                    self.to_stderr.clear();
                    self.is_stderr_open = false;
                }
            }
        }
    }

    fn read_host(&mut self) {
        let mut output = FilterOutput::default();
        match read_once(stdin(), &mut self.buffer) {
            ReadResult::Bytes(bytes) => {
                self.from_host.push(bytes).for_each(|line| self.filter.host_line(line, &mut output));
            }
            ReadResult::Nothing => {}
            ReadResult::End => {
                self.from_host.finish().into_iter().for_each(|line| self.filter.host_line(line, &mut output));
                self.host = HostState::InputClosed(Instant::now());
            }
        }
        self.queue(output);
    }

    fn read_child(&mut self) {
        let Some(fd) = &self.child_out else { return };
        let mut output = FilterOutput::default();
        match read_once(fd.as_fd(), &mut self.buffer) {
            ReadResult::Bytes(bytes) => {
                self.from_child.push(bytes).for_each(|line| self.filter.child_line(line, &mut output));
            }
            ReadResult::Nothing => {}
            ReadResult::End => {
                self.from_child
                    .finish()
                    .into_iter()
                    .for_each(|line| self.filter.child_line(line, &mut output));
                self.child_out = None;
            }
        }
        self.queue(output);
    }

    /// The child's standard error goes to the operator, with a prefix and without control
    /// characters.
    fn read_child_stderr(&mut self) {
        let Some(fd) = &self.child_err else { return };
        let (prefix, mut text) = (self.prefixes.child, String::new());
        let mut show = |line: Line| text.push_str(&stderr_line(prefix, &line));
        match read_once(fd.as_fd(), &mut self.buffer) {
            ReadResult::Bytes(bytes) => self.stderr_lines.push(bytes).for_each(&mut show),
            ReadResult::Nothing => {}
            ReadResult::End => {
                self.stderr_lines.finish().into_iter().for_each(&mut show);
                self.child_err = None;
            }
        }
        if self.is_stderr_open {
            self.to_stderr.push(text.as_bytes());
        }
    }

    fn queue(&mut self, output: FilterOutput) {
        if self.is_host_reading() {
            self.to_host.push(&output.to_host);
        }
        if self.child_in.is_some() {
            self.to_child.push(&output.to_child);
        }
        for note in output.notes.iter().filter(|_| self.is_stderr_open) {
            self.to_stderr.push(format!("{}{note}\n", self.prefixes.own).as_bytes());
        }
    }
}

enum ReadResult<'r> {
    Bytes(&'r [u8]),
    Nothing,
    End,
}

fn read_once<'b>(fd: BorrowedFd<'_>, buffer: &'b mut [u8]) -> ReadResult<'b> {
    match read(fd, &mut *buffer) {
        Ok(0) => ReadResult::End,
        Ok(count) => ReadResult::Bytes(buffer.get(..count).unwrap_or_default()),
        Err(Errno::INTR | Errno::AGAIN) => ReadResult::Nothing,
        Err(_) => ReadResult::End,
    }
}
