//! Runs a child to its end, within its deadline and output limit.

use crate::launch::cancel::CancelToken;
use crate::launch::error::LaunchError;
use crate::launch::linux::pipe_pump::{OutputStream, PipePump};
use crate::launch::linux::running::{KERNEL_TIMEOUT, KILL_TIMEOUT, Running, TERMINATE_TIMEOUT};
use crate::launch::linux::start::StartingChild;
use crate::launch::spec::LaunchSpec;
use crate::launch::status::{Finished, Status};
use std::time::{Duration, Instant};

/// How long output is read after the tree has ended; an unrelated process may hold the pipe.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Starts a child, feeds its input, collects its output and ends it at its deadline. Returns at most three seconds after
/// the deadline, whatever the child does with its pipes.
pub fn run_to_end(spec: LaunchSpec) -> Result<Finished, LaunchError> {
    run_with_output(spec, &CancelToken::new(), &|_| {})
}

/// The same; kills the tree when `cancel` is cancelled, and passes output to `on_output` as it comes.
pub fn run_with_output(
    spec: LaunchSpec,
    cancel: &CancelToken,
    on_output: &dyn Fn(&[u8]),
) -> Result<Finished, LaunchError> {
    let mut starting = StartingChild::new(spec)?;
    let finished = starting.running.finish_inner(cancel, on_output);
    starting.check().map(|()| finished)
}

impl Running {
    /// Waits for the child's end as [`run_to_end`] does.
    pub fn finish(self) -> Finished {
        self.finish_with_output(&CancelToken::new(), &|_| {})
    }

    /// Waits for the child's end as [`run_with_output`] does.
    pub fn finish_with_output(mut self, cancel: &CancelToken, on_output: &dyn Fn(&[u8])) -> Finished {
        self.finish_inner(cancel, on_output)
    }

    fn finish_inner(&mut self, cancel: &CancelToken, on_output: &dyn Fn(&[u8])) -> Finished {
        let (mut stdout, mut stderr) = (self.new_output(), self.new_output());
        let status = self.poll_until_exit(cancel, &mut |stream, bytes| {
            on_output(bytes);
            match stream {
                OutputStream::Stdout => stdout.push(bytes),
                OutputStream::Stderr => stderr.push(bytes),
            }
        });
        let (stdout, stderr, limit) = (stdout.take(), stderr.take(), self.reached_limit(status));
        Finished { status, stdout, stderr, limit, duration: self.started.elapsed() }
    }

    /// Serves the pipes that were not taken until the tree has ended.
    pub(in crate::launch) fn poll_until_exit(
        &mut self,
        cancel: &CancelToken,
        sink: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Status {
        let mut pump = PipePump::new(self);
        let mut ended_by_us: Option<Status> = None;
        let mut until = self.deadline;
        let status = loop {
            if let Some(status) = self.supervisor.status() {
                break status;
            }
            pump.poll(self, cancel.event_fd().filter(|_| ended_by_us.is_none()), until, sink);
            if cancel.is_cancelled() && ended_by_us.is_none() {
                self.kill();
                ended_by_us = Some(Status::Halted);
                until = Some(Instant::now() + KILL_TIMEOUT);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                if ended_by_us.is_some() {
                    self.kill_supervisor();
                    until = Some(Instant::now() + KERNEL_TIMEOUT);
                } else {
                    self.end();
                    ended_by_us = Some(Status::TimedOut);
                    until = Some(Instant::now() + TERMINATE_TIMEOUT);
                }
            }
        };
        pump.drain(DRAIN_TIMEOUT, sink);
        ended_by_us.unwrap_or(status)
    }
}
