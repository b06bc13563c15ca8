//! Copies bytes between the user's terminal and a child's pseudo-terminal.

use super::{poll_fd, poll_until};
use crate::launch::Running;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::stdio::{stdin, stdout};
use std::os::fd::BorrowedFd;

/// How much pending output is drained: more than a pseudo-terminal holds, and bounded for a child that never stops.
const MAX_DRAIN: usize = 1 << 20;

/// Input that is not written yet, and whether the user's terminal is there.
#[derive(Default)]
pub(super) struct Copier {
    input: Vec<u8>,
    is_hung_up: bool,
}

impl Copier {
    /// Whether more input is to be read.
    pub(super) fn wants_input(&self) -> bool {
        !self.is_hung_up && self.input.is_empty()
    }

    /// The events to wait for on the child's side.
    pub(super) fn wanted_events(&self) -> PollFlags {
        if self.input.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
    }

    /// Reads what was typed.
    pub(super) fn read_input(&mut self, running: &Running) {
        let mut buffer = [0; 4096];
        match rustix::io::read(stdin(), &mut buffer) {
            Ok(count @ 1..) => self.input.extend_from_slice(buffer.get(..count).unwrap_or(&[])),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => self.hang_up(running),
        }
    }

    /// Writes what was typed, as far as the child's side takes it.
    pub(super) fn write_input(&mut self, terminal: BorrowedFd<'_>) {
        while !self.input.is_empty() {
            match rustix::io::write(terminal, &self.input) {
                Ok(count) => drop(self.input.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // The child's side is gone.
                Err(_) => self.input.clear(),
            }
        }
    }

    /// Copies one read of the child's output; how much that was.
    pub(super) fn copy_output(&mut self, running: &Running) -> usize {
        let Some(terminal) = running.terminal() else { return 0 };
        let mut buffer = [0; 16 << 10];
        // An error: nothing now, or the child's side is gone.
        let Ok(count) = rustix::io::read(terminal, &mut buffer) else { return 0 };
        let output = buffer.get(..count).unwrap_or(&[]);
        if !self.is_hung_up && write_all(output).is_err() {
            self.hang_up(running);
        }
        count
    }

    /// Copies what the child has written so far.
    pub(super) fn drain_output(&mut self, running: &Running) {
        let mut drained = 0;
        while drained < MAX_DRAIN {
            match self.copy_output(running) {
                0 => return,
                count => drained += count,
            }
        }
    }

    /// The user's terminal is gone: ends the child.
    fn hang_up(&mut self, running: &Running) {
        if !self.is_hung_up {
            self.is_hung_up = true;
            running.signal(Signal::HUP);
            running.end();
        }
    }
}

fn write_all(mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(stdout(), bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or(&[]),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => poll_until(&mut [poll_fd(stdout(), PollFlags::OUT)], None),
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
