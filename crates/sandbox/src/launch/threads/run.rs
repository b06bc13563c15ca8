//! Serves the pipes of a child until its end.

use super::running::Running;
use crate::launch::cancel::CancelToken;
use crate::launch::error::LaunchError;
use crate::launch::platform::start;
use crate::launch::run::{DRAIN_TIMEOUT, OutputStream};
use crate::launch::spec::LaunchSpec;
use crate::launch::status::{Finished, Status};
use crate::os_file::OwnedFd;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How often a tree that is to end and has not is killed: one signal may miss a process that is
/// just being started.
const KILL_INTERVAL: Duration = Duration::from_secs(3);
/// The size of a read buffer.
const BUFFER: usize = 64 << 10;
/// Events that wait to be handled; a thread with one more waits.
const MAX_EVENTS: usize = 16;

/// What the threads of a child report.
enum Event {
    Output(OutputStream, Vec<u8>),
    Closed,
    Exited,
    /// Nothing but a reason to look.
    Woken,
}

/// Runs a child as [`run_to_end`](crate::launch::run_to_end) does; kills the tree when `cancel` is
/// cancelled, and passes output to `on_output` as it comes.
pub fn run_with_output(
    spec: LaunchSpec,
    cancel: &CancelToken,
    on_output: &dyn Fn(&[u8]),
) -> Result<Finished, LaunchError> {
    Ok(start(spec)?.finish_with_output(cancel, on_output))
}

impl Running {
    /// Serves the pipes that were not taken until the tree has ended.
    pub(in crate::launch) fn poll_until_exit(
        &mut self,
        cancel: &CancelToken,
        sink: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Status {
        let (sender, events) = mpsc::sync_channel(MAX_EVENTS);
        let Ok(mut open) = self.start_threads(&sender) else {
            self.child.kill();
            return Status::Halted;
        };
        let waker = Waker::from(Arc::new(EventWaker(sender.clone())));
        let mut cancelled = pin!(cancel.cancelled());
        let mut is_cancelled = cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let (mut ended_by_us, mut until) = (None, self.deadline);
        loop {
            let is_late = until.is_some_and(|until| Instant::now() >= until);
            match ended_by_us {
                None if is_cancelled || is_late => {
                    ended_by_us = Some(if is_cancelled { Status::Halted } else { Status::TimedOut });
                    self.child.end();
                    until = Some(Instant::now() + KILL_INTERVAL);
                }
                Some(_) if is_late => {
                    self.child.kill();
                    until = Some(Instant::now() + KILL_INTERVAL);
                }
                _ => {}
            }
            match receive(&events, until) {
                Some(Event::Output(stream, bytes)) => sink(stream, &bytes),
                Some(Event::Closed) => open -= 1,
                Some(Event::Exited) => break,
                Some(Event::Woken) | None => {}
            }
            is_cancelled = cancel.is_cancelled();
        }
        let status = self.child.wait(None).unwrap_or(Status::Halted);
        // The processes that it left.
        self.child.kill();
        let until = Some(Instant::now() + DRAIN_TIMEOUT);
        while open > 0 {
            match receive(&events, until) {
                Some(Event::Output(stream, bytes)) => sink(stream, &bytes),
                Some(Event::Closed) => open -= 1,
                Some(Event::Exited | Event::Woken) => {}
                None => break,
            }
        }
        ended_by_us.unwrap_or(status)
    }

    /// Starts the threads that serve the pipes and wait for the end; how many outputs are open.
    fn start_threads(&mut self, events: &SyncSender<Event>) -> io::Result<usize> {
        let input = std::mem::take(&mut self.streams.input);
        if let Some(stdin) = self.streams.stdin.take().filter(|_| !input.is_empty()) {
            spawn_thread("stdin", move || {
                // A child that closes its input wants no more.
                let _ = File::from(stdin).write_all(&input);
            })?;
        }
        let outputs = [
            (OutputStream::Stdout, self.streams.stdout.take()),
            (OutputStream::Stderr, self.streams.stderr.take()),
        ];
        let mut open = 0;
        for (stream, pipe) in outputs {
            if let Some(pipe) = pipe {
                let events = events.clone();
                spawn_thread("output", move || read_all(pipe, stream, &events))?;
                open += 1;
            }
        }
        let (child, events) = (Arc::clone(&self.child), events.clone());
        spawn_thread("wait", move || {
            child.wait(None);
            // The receiver is gone when it waits no longer.
            let _ = events.send(Event::Exited);
        })?;
        Ok(open)
    }
}

fn spawn_thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

/// Reads a pipe to its end, or until its output is not wanted any more.
fn read_all(pipe: OwnedFd, stream: OutputStream, events: &SyncSender<Event>) {
    let (mut pipe, mut buffer) = (File::from(pipe), vec![0; BUFFER]);
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        let bytes = buffer.get(..length).unwrap_or_default().to_vec();
        if events.send(Event::Output(stream, bytes)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::Closed);
}

/// The next event, until `until` at most.
fn receive(events: &Receiver<Event>, until: Option<Instant>) -> Option<Event> {
    let Some(until) = until else { return events.recv().ok() };
    events.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
}

/// Wakes the thread that waits for events.
struct EventWaker(SyncSender<Event>);

impl Wake for EventWaker {
    fn wake(self: Arc<Self>) {
        // With as many events as there may be, that thread is awake.
        let _ = self.0.try_send(Event::Woken);
    }
}
