//! All that stands in for the streams of this process.

use super::pipe_relay::PipeRelay;
use super::poll_until;
use super::terminal_relay::TerminalRelay;
use super::{ENDING, poll_fd, stop_self};
use crate::launch::{RelayedStreams, Running};
use picoclaw_sys::linux::{SignalFd, suspend_job};
use rustix::event::PollFlags;
use rustix::process::Signal;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How much pending output is copied before a stop: more than a pseudo-terminal holds, in rounds of
/// one read.
const MAX_ROUNDS: usize = 64;

/// How long more output is waited for once the child has ended: an unrelated process may hold its
/// terminal or pipe.
const QUIET_TIMEOUT: Duration = Duration::from_millis(200);

pub(super) struct Relays {
    /// The first is the child's controlling terminal.
    terminals: Vec<TerminalRelay>,
    pipes: Vec<PipeRelay>,
}

impl Relays {
    pub(super) fn new(relayed: RelayedStreams) -> Self {
        let RelayedStreams { terminals, pipes } = relayed;
        Self {
            terminals: terminals.into_iter().map(TerminalRelay::new).collect(),
            pipes: pipes.into_iter().map(PipeRelay::new).collect(),
        }
    }

    /// Whether the child has a controlling terminal that it has not asked for yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.terminals.first().is_some_and(TerminalRelay::is_waiting)
    }

    /// Whether keys reach the child through a terminal of its own.
    pub(super) fn has_terminal(&self) -> bool {
        self.terminals.first().is_some_and(|terminal| !terminal.is_waiting())
    }

    pub(super) fn waits_for_foreground(&self) -> bool {
        self.terminals.iter().any(TerminalRelay::waits_for_foreground)
            || self.pipes.iter().any(|pipe| !pipe.is_available())
    }

    /// Waits for an event, until `until` at most.
    pub(super) fn poll(&self, events: &[BorrowedFd<'_>], until: Option<Instant>) {
        let mut fds: Vec<_> = events.iter().map(|fd| poll_fd(*fd, PollFlags::IN)).collect();
        fds.extend(self.terminals.iter().flat_map(TerminalRelay::poll_fds));
        fds.extend(self.pipes.iter().filter_map(PipeRelay::poll_fd));
        poll_until(&mut fds, until);
    }

    /// Copies what is there. A child whose terminal is gone is ended.
    pub(super) fn copy(&mut self, running: &Running) {
        for terminal in &mut self.terminals {
            let was_hung_up = terminal.is_hung_up();
            terminal.copy();
            terminal.update();
            if terminal.is_hung_up() && !was_hung_up {
                running.signal(Signal::HUP);
                running.end();
            }
        }
        for pipe in &mut self.pipes {
            pipe.copy();
        }
        self.pipes.retain(PipeRelay::is_open);
    }

    /// Copies the last output of a child that has ended, for as long as it is read, and until a
    /// signal asks for an end.
    pub(super) fn drain(&mut self, signals: &SignalFd, until: Option<Instant>) {
        self.pipes.retain(PipeRelay::is_output);
        self.terminals.iter_mut().for_each(TerminalRelay::close_slave);
        let mut quiet_until = Instant::now() + QUIET_TIMEOUT;
        loop {
            let is_moved = self.copy_output();
            let is_finished = self.pipes.is_empty() && self.terminals.iter().all(TerminalRelay::is_finished);
            if is_finished || until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            let has_pending = self.terminals.iter().any(TerminalRelay::has_pending)
                || self.pipes.iter().any(PipeRelay::has_pending);
            if is_moved || has_pending {
                quiet_until = Instant::now() + QUIET_TIMEOUT;
            } else if Instant::now() >= quiet_until {
                return;
            }
            if !is_moved {
                let quiet_until = (!has_pending).then_some(quiet_until);
                self.poll(&[signals.as_fd()], [until, quiet_until].into_iter().flatten().min());
            }
            while let Some(signal) = signals.next() {
                if ENDING.contains(&signal) {
                    return;
                } else if signal == Signal::TSTP {
                    stop_self();
                }
            }
        }
    }

    /// One round of output; whether anything was moved.
    fn copy_output(&mut self) -> bool {
        let mut is_moved = false;
        for terminal in &mut self.terminals {
            is_moved |= terminal.copy_output();
        }
        for pipe in &mut self.pipes {
            is_moved |= pipe.copy();
        }
        self.pipes.retain(PipeRelay::is_open);
        is_moved
    }

    /// Copies the output of a child that has stopped, before this process stops too.
    pub(super) fn copy_pending(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !self.copy_output() {
                break;
            }
        }
    }

    /// The kernel has stopped the child because it wants keys, or other settings. This process asks
    /// for them in its place: in the background it is stopped as well, unless a deadline runs.
    pub(super) fn give_terminal(&mut self, running: &Running, signal: Signal, has_deadline: bool) {
        let Some(terminal) = self.terminals.first_mut() else { return };
        if !terminal.is_available() && !has_deadline {
            suspend_job(signal);
        }
        terminal.stop_waiting();
        terminal.update();
        terminal.resize();
        running.to_foreground();
        running.signal(Signal::CONT);
    }

    /// The child was stopped by its terminal's suspend key: stops the whole job, and continues the
    /// child when it is continued.
    pub(super) fn suspend(&mut self, running: &Running) {
        self.copy_pending();
        self.terminals.iter().for_each(TerminalRelay::restore);
        suspend_job(Signal::TSTP);
        self.terminals.iter_mut().for_each(TerminalRelay::update);
        self.resize(running);
        running.signal(Signal::CONT);
    }

    /// After a stop that was not announced.
    pub(super) fn reapply(&mut self, running: &Running) {
        self.terminals.iter_mut().for_each(TerminalRelay::reapply);
        self.resize(running);
    }

    /// Gives the child's terminals the sizes of the user's.
    pub(super) fn resize(&self, running: &Running) {
        self.terminals.iter().for_each(TerminalRelay::resize);
        // The kernel tells only the foreground group.
        if self.is_waiting() {
            running.signal(Signal::WINCH);
        }
    }
}
