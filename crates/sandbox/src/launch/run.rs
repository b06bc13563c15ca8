//! A child from start to end, within its deadline and its bounds.
//!
//! Invariant: the call ends at most three seconds after the deadline, whatever the child does with its pipes.

use crate::launch::error::LaunchError;
use crate::launch::halt::Halt;
use crate::launch::pump::{Pump, Stream};
use crate::launch::running::{BACKSTOP, Running};
use crate::launch::spec::LaunchSpec;
use crate::launch::start::begin;
use crate::launch::status::{Finished, Status};
use std::time::{Duration, Instant};

/// How long output is still read after nobody is left who could write it; somebody else may hold the pipe.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Starts a child and stays with it: feeds its input, keeps its output within bounds, ends it at its deadline.
pub fn run_to_end(spec: LaunchSpec) -> Result<Finished, LaunchError> {
    run_watched(spec, &Halt::new(), &|_| {})
}

/// The same, ended at once with all that it started when `halt` is raised; `watch` sees output as it comes.
pub fn run_watched(spec: LaunchSpec, halt: &Halt, watch: &dyn Fn(&[u8])) -> Result<Finished, LaunchError> {
    let mut begun = begin(spec)?;
    let finished = begun.running.finish_here(halt, watch);
    begun.check().map(|()| finished)
}

impl Running {
    /// Stays with the child until its end.
    pub fn finish(mut self) -> Finished {
        self.finish_here(&Halt::new(), &|_| {})
    }

    /// The same, ended at once when `halt` is raised; `watch` sees output as it comes.
    pub fn finish_watched(mut self, halt: &Halt, watch: &dyn Fn(&[u8])) -> Finished {
        self.finish_here(halt, watch)
    }

    fn finish_here(&mut self, halt: &Halt, watch: &dyn Fn(&[u8])) -> Finished {
        let (mut stdout, mut stderr) = (self.clip(), self.clip());
        let status = self.stay(halt, &mut |stream, bytes| {
            watch(bytes);
            match stream {
                Stream::Stdout => stdout.push(bytes),
                Stream::Stderr => stderr.push(bytes),
            }
        });
        Finished { status, stdout: stdout.take(), stderr: stderr.take(), duration: self.started.elapsed() }
    }

    /// Serves the pipes that are left until nobody of the child is.
    pub(super) fn stay(&mut self, halt: &Halt, sink: &mut dyn FnMut(Stream, &[u8])) -> Status {
        let mut pump = Pump::new(self);
        let mut cut: Option<Status> = None;
        let mut until = self.deadline;
        let status = loop {
            if let Some(status) = self.handle.ended() {
                break status;
            }
            pump.turn(self, halt.event().filter(|_| cut.is_none()), until, sink);
            if halt.is_raised() && cut.is_none() {
                self.kill();
                cut = Some(Status::Halted);
                until = Some(Instant::now() + BACKSTOP);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                if cut.is_some() {
                    self.handle.kill_keeper();
                } else {
                    self.end();
                    cut = Some(Status::TimedOut);
                }
                until = Some(Instant::now() + BACKSTOP);
            }
        };
        pump.drain(LAST_WORDS, sink);
        cut.unwrap_or(status)
    }
}
