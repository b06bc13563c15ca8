//! Serves the pipes of a child until its end.

use crate::launch::cancel::CancelToken;
use crate::launch::error::LaunchError;
use crate::launch::linux::pipe_pump::PipePump;
use crate::launch::linux::running::{Running, TERMINATE_TIMEOUT};
use crate::launch::linux::start::StartingChild;
use crate::launch::run::{DRAIN_TIMEOUT, KERNEL_TIMEOUT, KILL_TIMEOUT, OutputStream};
use crate::launch::spec::LaunchSpec;
use crate::launch::status::{Finished, Status};
use std::time::Instant;

/// Runs a child as [`run_to_end`](crate::launch::run_to_end) does; kills the tree when `cancel` is
/// cancelled, and passes output to `on_output` as it comes.
pub fn run_with_output(
    spec: LaunchSpec,
    cancel: &CancelToken,
    on_output: &dyn Fn(&[u8]),
) -> Result<Finished, LaunchError> {
    let mut starting = StartingChild::new(spec)?;
    let finished = starting.running.collect(cancel, on_output);
    starting.check().map(|()| finished)
}

impl Running {
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
