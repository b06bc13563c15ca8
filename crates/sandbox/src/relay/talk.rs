//! What is said between a person's terminal and a child's.
//!
//! Invariant: bytes are passed on as they are and in their order; none is dropped while both sides are there.

use crate::launch::Running;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::stdio::{stdin, stdout};
use std::os::fd::BorrowedFd;

/// More than any terminal holds: a child that never falls silent is not waited for.
const MOST_AT_ONCE: usize = 1 << 20;

/// What was typed and not passed on yet, and who is still there.
#[derive(Default)]
pub(super) struct Talk {
    typed: Vec<u8>,
    person: Person,
}

/// Whether the person is still there.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Person {
    #[default]
    There,
    Gone,
}

impl Talk {
    /// Whether more can be read from the person.
    pub(super) fn listens(&self) -> bool {
        self.person == Person::There && self.typed.is_empty()
    }

    /// What to wait for on the child's side.
    pub(super) fn wanted(&self) -> PollFlags {
        if self.typed.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
    }

    /// Reads what was typed.
    pub(super) fn read(&mut self, running: &Running) {
        let mut buffer = [0; 4096];
        match rustix::io::read(stdin(), &mut buffer) {
            Ok(count @ 1..) => self.typed.extend_from_slice(buffer.get(..count).unwrap_or(&[])),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => self.hang_up(running),
        }
    }

    /// Passes on what was typed, as far as the child's side takes it.
    pub(super) fn send(&mut self, terminal: BorrowedFd<'_>) {
        while !self.typed.is_empty() {
            match rustix::io::write(terminal, &self.typed) {
                Ok(count) => drop(self.typed.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // Nobody is on the other side; what was typed is nobody's.
                Err(_) => self.typed.clear(),
            }
        }
    }

    /// Passes on what the child said; how much that was.
    pub(super) fn show(&mut self, running: &Running) -> usize {
        let Some(terminal) = running.terminal() else { return 0 };
        let mut buffer = [0; 16 << 10];
        match rustix::io::read(terminal, &mut buffer) {
            Ok(count) => {
                let said = buffer.get(..count).unwrap_or(&[]);
                if self.person == Person::There && write_all(said).is_err() {
                    self.hang_up(running);
                }
                count
            }
            // Nothing now, or nobody left who could say something.
            Err(_) => 0,
        }
    }

    /// Passes on what the child has said so far.
    pub(super) fn catch_up(&mut self, running: &Running) {
        let mut shown = 0;
        while shown < MOST_AT_ONCE {
            match self.show(running) {
                0 => return,
                count => shown += count,
            }
        }
    }

    /// The person's terminal is gone, and so is whoever could ask the child to end.
    fn hang_up(&mut self, running: &Running) {
        if self.person == Person::There {
            self.person = Person::Gone;
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
            Err(Errno::AGAIN) => super::wait(&mut [super::watch(stdout(), PollFlags::OUT)], None),
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
