//! Copies bytes between a terminal of the user and the child's pseudo-terminal.

use super::nonblocking::{read_ready, write_ready};
use super::poll_fd;
use super::raw_mode::{RawMode, processes_output};
use crate::launch::{RelayedTerminal, UserTerminal, set_size, stream};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
use rustix::termios::tcgetattr;
use std::os::fd::{AsFd, OwnedFd};

/// A pseudo-terminal, and the bytes that were read and not written yet.
pub(super) struct TerminalRelay {
    user: UserTerminal,
    master: OwnedFd,
    /// While this process holds the slave side too, the master does not signal a hang-up when the
    /// child closes its own.
    slave: Option<OwnedFd>,
    /// The slave side has no user left, and everything is read.
    is_ended: bool,
    raw_mode: RawMode,
    /// The child has not asked for the terminal yet: no key is read and no setting changed.
    is_waiting: bool,
    to_child: Vec<u8>,
    to_user: Vec<u8>,
    is_hung_up: bool,
}

impl TerminalRelay {
    pub(super) fn new(relayed: RelayedTerminal) -> Self {
        let RelayedTerminal { user, master, starts_in_background } = relayed;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let (slave, raw_mode) = (ioctl_tiocgptpeer(&master, flags).ok(), RawMode::new(&user));
        let (to_child, to_user) = (Vec::new(), Vec::new());
        let mut relay = Self {
            user,
            master,
            slave,
            is_ended: false,
            raw_mode,
            is_waiting: starts_in_background,
            to_child,
            to_user,
            is_hung_up: false,
        };
        relay.update();
        relay
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// The child has asked for the terminal.
    pub(super) fn stop_waiting(&mut self) {
        self.is_waiting = false;
    }

    pub(super) fn is_hung_up(&self) -> bool {
        self.is_hung_up
    }

    pub(super) fn is_available(&self) -> bool {
        self.user.is_available()
    }

    /// Whether a change to the foreground is to be noticed.
    pub(super) fn waits_for_foreground(&self) -> bool {
        !self.is_waiting && self.user.is_controlling() && !self.raw_mode.is_active()
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.to_user.is_empty() && !self.is_hung_up
    }

    /// Whether everything that the child has written is copied.
    pub(super) fn is_finished(&self) -> bool {
        self.is_hung_up || (self.is_ended && self.to_user.is_empty())
    }

    /// Lets go of the slave side: when the child's users of it are gone as well, the kernel says
    /// which output was the last.
    pub(super) fn close_slave(&mut self) {
        self.slave = None;
    }

    /// Follows changes between foreground and background.
    pub(super) fn update(&mut self) {
        if !self.is_waiting {
            self.raw_mode.update(&self.user, &self.master);
        }
    }

    /// After a stop that was not announced.
    pub(super) fn reapply(&mut self) {
        self.update();
        self.raw_mode.reapply();
    }

    pub(super) fn restore(&self) {
        self.raw_mode.restore();
    }

    /// Gives the child's terminal the size of the user's.
    pub(super) fn resize(&self) {
        let _gone = set_size(&self.master, self.user.size());
    }

    pub(super) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, self.to_user.is_empty() && !self.is_ended);
        events.set(PollFlags::OUT, !self.to_child.is_empty());
        let input = self.user.input().filter(|_| self.wants_input());
        let output = self.user.output().filter(|_| self.has_pending());
        let child = (!events.is_empty()).then(|| poll_fd(self.master.as_fd(), events));
        let input = input.map(|fd| poll_fd(fd, PollFlags::IN));
        let output = output.map(|fd| poll_fd(fd, PollFlags::OUT));
        [child, input, output].into_iter().flatten()
    }

    /// Reads and writes once in each direction; whether a byte came from the child.
    pub(super) fn copy(&mut self) -> bool {
        self.copy_input();
        // Not only where a read ends: once the terminal is gone this process is in no foreground,
        // and reads no more.
        self.is_hung_up |= tcgetattr(stream(self.user.first())).is_err();
        self.copy_output()
    }

    fn wants_input(&self) -> bool {
        !self.is_waiting && !self.is_hung_up && self.to_child.is_empty() && self.raw_mode.is_active()
    }

    fn copy_input(&mut self) {
        if let Some(input) = self.user.input().filter(|_| self.wants_input()) {
            let mut buffer = [0; 4096];
            // Nothing where none was typed, this process is in the background, or the terminal is
            // gone.
            let count = read_ready(input, &mut buffer).unwrap_or(0);
            self.to_child.extend_from_slice(buffer.get(..count).unwrap_or(&[]));
        }
        if !self.to_child.is_empty() {
            match write_ready(self.master.as_fd(), &self.to_child) {
                Ok(count) => drop(self.to_child.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The child's side is gone.
                Err(_) => self.to_child.clear(),
            }
        }
    }

    fn read_output(&mut self) -> bool {
        let mut buffer = [0; 16 << 10];
        let count = match read_ready(self.master.as_fd(), &mut buffer) {
            Ok(count) => count,
            Err(errno) => {
                self.is_ended |= errno == Errno::IO;
                0
            }
        };
        self.to_user.extend_from_slice(buffer.get(..count).unwrap_or(&[]));
        count > 0
    }

    /// Copies output without waiting for the user's terminal.
    pub(super) fn copy_output(&mut self) -> bool {
        let mut is_moved = false;
        if self.to_user.is_empty() {
            is_moved = self.read_output();
            if is_moved && self.raw_mode.processes_output() && processes_output(&self.master) {
                // The kernel has put both bytes of a line end there at once.
                if self.to_user.ends_with(b"\r") {
                    self.read_output();
                }
                undo_line_ends(&mut self.to_user);
            }
        }
        match self.user.output().filter(|_| !self.is_hung_up) {
            None => self.to_user.clear(),
            Some(output) if !self.to_user.is_empty() => match write_ready(output, &self.to_user) {
                Ok(count) => drop(self.to_user.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => self.is_hung_up = true,
            },
            Some(_) => {}
        }
        is_moved
    }
}

/// Removes what the child's terminal has put before each line feed: the user's terminal does so
/// again.
fn undo_line_ends(bytes: &mut Vec<u8>) {
    let mut previous = 0;
    let mut kept = Vec::with_capacity(bytes.len());
    for byte in bytes.drain(..) {
        if byte == b'\n' && previous == b'\r' {
            kept.pop();
        }
        kept.push(byte);
        previous = byte;
    }
    *bytes = kept;
}
