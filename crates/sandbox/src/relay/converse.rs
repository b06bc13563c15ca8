//! A conversation in lines between this process's own host and a caged child.
//!
//! The host is on standard input and output. It may stop reading, stop writing or vanish; the child may flood, hang or
//! die. Everything is written as soon as the other side takes it, and nothing is read that could not be kept.
//!
//! Invariant: when the host is gone the child is ended, and when the child has ended everything it said is passed on.

use super::between::{Between, Said};
use super::lines::{Line, Lines};
use super::outlet::{Outlet, SURELY};
use super::{wait, watch};
use crate::launch::{Running, Status};
use crate::printable;
use picoclaw_sys::linux::{SignalFd, stop_self};
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, read};
use rustix::process::Signal;
use rustix::stdio::{stderr, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The longest line that is passed on.
pub const LONGEST_LINE: usize = 16 << 20;

/// The longest piece of a child's second output that is shown as one line.
const LONGEST_REMARK: usize = 4 << 10;

/// How long a child may take to end by itself once its host has nothing more to say.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long past that it may take to be ended.
const ENDING: Duration = Duration::from_millis(2_600);

/// How the two voices on standard error are told apart.
#[derive(Debug, Clone, Copy)]
pub struct Voices<'v> {
    /// Before what is said here.
    pub ours: &'v str,
    /// Before what the child says.
    pub theirs: &'v str,
}

/// Stays with a child that talks in lines, until it ends.
pub fn converse(
    running: &mut Running,
    signals: &SignalFd,
    between: &mut dyn Between,
    voices: Voices<'_>,
) -> Status {
    let mut talk = Talk::new(running, between, voices);
    loop {
        if let Some(status) = running.poll() {
            talk.catch_up();
            return status;
        }
        if running.take_stop() {
            stop_self();
            running.signal(Signal::CONT);
        }
        if let Some(status) = talk.leave(running) {
            return status;
        }
        talk.wait_and_move(Some((running, signals)));
        while let Some(signal) = signals.next() {
            match signal {
                // We follow when it has stopped, as `attend` does.
                Signal::TSTP => running.signal(Signal::STOP),
                Signal::WINCH | Signal::CONT => {}
                other => running.signal(other),
            }
        }
    }
}

struct Talk<'t> {
    between: &'t mut dyn Between,
    voices: Voices<'t>,
    host: Host,
    from_host: Lines,
    to_host: Outlet,
    child_in: Option<OwnedFd>,
    to_child: Outlet,
    child_out: Option<OwnedFd>,
    from_child: Lines,
    child_err: Option<OwnedFd>,
    remarks: Lines,
    to_operator: Outlet,
    operator: Hears,
    buffer: Vec<u8>,
}

/// Where the host is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    /// It may say more.
    There,
    /// It says nothing more, and still listens; since when.
    Silent(Instant),
    /// Nobody is there; since when.
    Gone(Instant),
    /// The child was told to end; when that must have happened.
    Ended(Instant),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hears {
    Yes,
    No,
}

/// What a watched descriptor is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    HostIn,
    HostOut,
    ChildIn,
    ChildOut,
    ChildErr,
    Operator,
    News,
}

impl<'t> Talk<'t> {
    fn new(running: &mut Running, between: &'t mut dyn Between, voices: Voices<'t>) -> Self {
        Self {
            between,
            voices,
            host: Host::There,
            from_host: Lines::new(LONGEST_LINE),
            to_host: Outlet::default(),
            child_in: running.take_stdin(),
            to_child: Outlet::default(),
            child_out: running.take_stdout(),
            from_child: Lines::new(LONGEST_LINE),
            child_err: running.take_stderr(),
            remarks: Lines::new(LONGEST_REMARK),
            to_operator: Outlet::default(),
            operator: Hears::Yes,
            buffer: vec![0; 64 << 10],
        }
    }

    /// Sees a child off whose host is silent or gone, or that does not talk any more.
    fn leave(&mut self, running: &Running) -> Option<Status> {
        let now = Instant::now();
        let is_mute = self.child_out.is_none() && self.to_host.is_empty();
        match self.host {
            Host::There if is_mute => self.host = Host::Silent(now),
            Host::There => {}
            Host::Silent(since) => {
                let settled = self.to_child.is_empty() && !self.between.is_waiting();
                if settled || now >= since + FAREWELL {
                    // The end of its input is how a server learns that it may go.
                    self.child_in = None;
                }
                if now >= since + FAREWELL {
                    self.host = Host::Gone(now);
                }
            }
            Host::Gone(since) => {
                self.child_in = None;
                running.end();
                self.host = Host::Ended(since + ENDING);
            }
            Host::Ended(until) if now >= until => return Some(Status::Halted),
            Host::Ended(_) => {}
        }
        None
    }

    /// When [`Talk::leave`] has something to do next.
    fn until(&self) -> Option<Instant> {
        match self.host {
            Host::There => None,
            Host::Silent(since) => Some(since + FAREWELL),
            Host::Gone(since) => Some(since),
            Host::Ended(until) => Some(until),
        }
    }

    /// Passes on what the child said before it ended, as far as somebody takes it.
    fn catch_up(&mut self) {
        let until = Instant::now() + FAREWELL;
        self.child_in = None;
        if self.host == Host::There {
            self.host = Host::Silent(until);
        }
        // Whoever could still write to these is gone with the child's tree, so they end.
        while Instant::now() < until {
            let unsaid = self.child_out.is_some() || self.child_err.is_some();
            let unheard = !self.to_host.is_empty() || !self.to_operator.is_empty();
            if !unsaid && !unheard {
                return;
            }
            self.wait_and_move(None);
        }
    }

    /// Waits for something to happen, and moves what can be moved.
    fn wait_and_move(&mut self, news: Option<(&Running, &SignalFd)>) {
        let mut ends = Vec::with_capacity(8);
        let (own_in, own_out, own_err) = (stdin(), stdout(), stderr());
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(8);
        let mut look = |end, fd, flags| {
            ends.push(end);
            fds.push(watch(fd, flags));
        };
        let out_if = |outlet: &Outlet| if outlet.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        if let Some((running, signals)) = news {
            for fd in [running.ended_fd(), running.news_fd(), signals.as_fd()] {
                look(End::News, fd, PollFlags::IN);
            }
        }
        if self.host == Host::There && !self.to_child.is_full() && !self.to_host.is_full() {
            look(End::HostIn, own_in, PollFlags::IN);
        }
        if matches!(self.host, Host::There | Host::Silent(_)) {
            look(End::HostOut, own_out, out_if(&self.to_host));
        }
        if let Some(fd) = &self.child_in {
            look(End::ChildIn, fd.as_fd(), out_if(&self.to_child));
        }
        if let Some(fd) = self.child_out.as_ref().filter(|_| !self.to_host.is_full()) {
            look(End::ChildOut, fd.as_fd(), PollFlags::IN);
        }
        if let Some(fd) = self.child_err.as_ref().filter(|_| !self.to_operator.is_full()) {
            look(End::ChildErr, fd.as_fd(), PollFlags::IN);
        }
        if self.operator == Hears::Yes && !self.to_operator.is_empty() {
            look(End::Operator, own_err, PollFlags::OUT);
        }
        let until = if news.is_some() { self.until() } else { Some(Instant::now() + FAREWELL) };
        wait(&mut fds, until);
        let ready: Vec<(End, PollFlags)> = ends.into_iter().zip(fds.iter().map(PollFd::revents)).collect();
        for (end, flags) in ready.into_iter().filter(|(_, flags)| !flags.is_empty()) {
            self.go(end, flags);
        }
    }

    fn go(&mut self, end: End, flags: PollFlags) {
        let is_broken = flags.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        match end {
            End::News => {}
            End::HostIn => self.hear_host(),
            End::ChildOut => self.hear_child(),
            End::ChildErr => self.hear_remarks(),
            End::HostOut => {
                if is_broken
                    || (flags.contains(PollFlags::OUT) && self.to_host.send(stdout(), SURELY).is_err())
                {
                    self.to_host.clear();
                    self.host = Host::Gone(Instant::now());
                }
            }
            End::ChildIn => {
                let sent = self.child_in.as_ref().map(|fd| self.to_child.send(fd.as_fd(), usize::MAX));
                if is_broken || matches!(sent, Some(Err(_))) {
                    self.to_child.clear();
                    self.child_in = None;
                }
            }
            End::Operator => {
                if is_broken || self.to_operator.send(stderr(), SURELY).is_err() {
                    self.to_operator.clear();
                    self.operator = Hears::No;
                }
            }
        }
    }

    fn hear_host(&mut self) {
        let (heard, between, mut said) =
            (take(stdin(), &mut self.buffer), &mut self.between, Said::default());
        let mut tell = |line: Line<'_>| between.host_said(line, &mut said);
        match heard {
            Heard::Bytes(bytes) => self.from_host.take(bytes, &mut tell),
            Heard::Nothing => {}
            Heard::End => {
                self.from_host.end(&mut tell);
                self.host = Host::Silent(Instant::now());
            }
        }
        self.post(said);
    }

    fn hear_child(&mut self) {
        let Some(fd) = &self.child_out else { return };
        let (heard, between, mut said) =
            (take(fd.as_fd(), &mut self.buffer), &mut self.between, Said::default());
        let mut tell = |line: Line<'_>| between.child_said(line, &mut said);
        match heard {
            Heard::Bytes(bytes) => self.from_child.take(bytes, &mut tell),
            Heard::Nothing => {}
            Heard::End => {
                self.from_child.end(&mut tell);
                self.child_out = None;
            }
        }
        self.post(said);
    }

    /// What the child says beside goes to the operator, one line after the other, with nothing that a terminal obeys.
    fn hear_remarks(&mut self) {
        let Some(fd) = &self.child_err else { return };
        let (heard, theirs, mut text) =
            (take(fd.as_fd(), &mut self.buffer), self.voices.theirs, String::new());
        let mut tell = |line: Line<'_>| {
            let said = match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes),
                Line::TooLong => "(a longer line than is shown)".into(),
            };
            text.push_str(&format!("{theirs}{}\n", printable(said.trim_end_matches('\r'))));
        };
        match heard {
            Heard::Bytes(bytes) => self.remarks.take(bytes, &mut tell),
            Heard::Nothing => {}
            Heard::End => {
                self.remarks.end(&mut tell);
                self.child_err = None;
            }
        }
        if self.operator == Hears::Yes {
            self.to_operator.add(text.as_bytes());
        }
    }

    fn post(&mut self, said: Said) {
        if matches!(self.host, Host::There | Host::Silent(_)) {
            self.to_host.add(&said.to_host);
        }
        if self.child_in.is_some() {
            self.to_child.add(&said.to_child);
        }
        for note in said.notes.iter().filter(|_| self.operator == Hears::Yes) {
            self.to_operator.add(format!("{}{note}\n", self.voices.ours).as_bytes());
        }
    }
}

enum Heard<'h> {
    Bytes(&'h [u8]),
    Nothing,
    End,
}

fn take<'b>(from: BorrowedFd<'_>, buffer: &'b mut [u8]) -> Heard<'b> {
    match read(from, &mut *buffer) {
        Ok(0) => Heard::End,
        Ok(count) => Heard::Bytes(buffer.get(..count).unwrap_or_default()),
        Err(Errno::INTR | Errno::AGAIN) => Heard::Nothing,
        Err(_) => Heard::End,
    }
}
