//! The proxy without `poll`: a thread for each stream, and one loop that decides.

use super::{FilterOutput, LineFilter, MAX_LINE, MAX_STDERR_LINE, StderrPrefixes, stderr_line};
use crate::bounded_lines::BoundedLines;
use crate::launch::{Running, Status};
use crate::os_file::OwnedFd;
use crate::terminal::Signals;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// How long a child may run after its host has closed its output, and how long its last output is
/// passed on.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the child and the signals are looked at.
const CHECK: Duration = Duration::from_millis(50);
/// What may wait to be written; a reader that leaves more unread is given up.
const MAX_QUEUED: usize = 4 * MAX_LINE;
/// Reads that wait to be handled; a thread with one more waits.
const MAX_EVENTS: usize = 16;

enum Event {
    Host(Vec<u8>),
    HostEnd,
    Child(Vec<u8>),
    ChildEnd,
    ChildErr(Vec<u8>),
    ChildErrEnd,
}

/// Proxies lines between the host and the child until the child ends.
pub fn proxy_lines(
    running: &mut Running,
    signals: &Signals,
    filter: &mut dyn LineFilter,
    prefixes: StderrPrefixes<'_>,
) -> Status {
    let (sender, events) = mpsc::sync_channel(MAX_EVENTS);
    let to_host = Writer::new(io::stdout());
    let mut to_child = running.take_stdin().map(|pipe| Writer::new(File::from(pipe)));
    let outputs = [running.take_stdout(), running.take_stderr()].map(|pipe| pipe.map(open));
    let [stdout, stderr] = outputs;
    let mut open_outputs = usize::from(stdout.is_some()) + usize::from(stderr.is_some());
    if let Some(pipe) = stdout {
        read_all(pipe, &sender, Event::Child, Event::ChildEnd);
    }
    if let Some(pipe) = stderr {
        read_all(pipe, &sender, Event::ChildErr, Event::ChildErrEnd);
    }
    read_all(io::stdin(), &sender, Event::Host, Event::HostEnd);
    let (mut from_host, mut from_child) = (BoundedLines::new(MAX_LINE), BoundedLines::new(MAX_LINE));
    let mut stderr_lines = BoundedLines::new(MAX_STDERR_LINE);
    let (mut status, mut until): (Option<Status>, Option<Instant>) = (None, None);
    loop {
        let mut output = FilterOutput::default();
        match events.recv_timeout(CHECK) {
            Ok(Event::Host(bytes)) => {
                from_host.push(&bytes).for_each(|line| filter.host_line(line, &mut output));
            }
            Ok(Event::HostEnd) => {
                from_host.finish().into_iter().for_each(|line| filter.host_line(line, &mut output));
                until = until.or(Some(Instant::now() + CLOSE_TIMEOUT));
            }
            Ok(Event::Child(bytes)) => {
                from_child.push(&bytes).for_each(|line| filter.child_line(line, &mut output));
            }
            Ok(Event::ChildEnd) => {
                from_child.finish().into_iter().for_each(|line| filter.child_line(line, &mut output));
                open_outputs -= 1;
                until = until.or(Some(Instant::now() + CLOSE_TIMEOUT));
            }
            Ok(Event::ChildErr(bytes)) => {
                stderr_lines.push(&bytes).for_each(|line| show(&stderr_line(prefixes.child, &line)));
            }
            Ok(Event::ChildErrEnd) => {
                stderr_lines.finish().iter().for_each(|line| show(&stderr_line(prefixes.child, line)));
                open_outputs -= 1;
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        to_host.push(output.to_host);
        to_child.iter().for_each(|child| child.push(std::mem::take(&mut output.to_child)));
        output.notes.iter().for_each(|note| show(&format!("{}{note}\n", prefixes.own)));
        if status.is_none() {
            status = running.poll();
            if status.is_some() {
                // The processes that it left.
                running.end();
                (to_child, until) = (None, Some(Instant::now() + CLOSE_TIMEOUT));
            }
        }
        if let Some(status) = status
            && (open_outputs == 0 && to_host.is_done() || is_past(until))
        {
            return status;
        }
        let is_settled = to_child.as_ref().is_none_or(Writer::is_done) && !filter.is_waiting();
        if until.is_some() && is_settled {
            // A server ends when its input is closed.
            to_child = None;
        }
        let is_given_up = to_host.is_given_up() || to_child.as_ref().is_some_and(Writer::is_given_up);
        if status.is_none() && (is_given_up || signals.is_interrupted() || is_past(until)) {
            running.end();
            status = Some(Status::Halted);
            (to_child, until) = (None, Some(Instant::now() + CLOSE_TIMEOUT));
        }
    }
}

fn is_past(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

fn open(pipe: OwnedFd) -> File {
    File::from(pipe)
}

fn show(text: &str) {
    // The operator may have closed it.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Reads to the end, on a thread of its own.
fn read_all(
    mut source: impl Read + Send + 'static,
    events: &SyncSender<Event>,
    bytes: fn(Vec<u8>) -> Event,
    end: Event,
) {
    let events = events.clone();
    let read = move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = source.read(&mut buffer) {
            if events.send(bytes(buffer.get(..length).unwrap_or_default().to_vec())).is_err() {
                return;
            }
        }
        let _ = events.send(end);
    };
    // Without a thread the stream is closed, and the end is noticed by the child.
    let _ = thread::Builder::new().name("proxy".to_owned()).spawn(read);
}

/// A thread that writes, and what waits for it.
struct Writer {
    queue: Sender<Vec<u8>>,
    queued: Arc<AtomicUsize>,
    has_failed: Arc<AtomicBool>,
}

impl Writer {
    fn new(mut target: impl Write + Send + 'static) -> Self {
        let (queue, texts) = mpsc::channel::<Vec<u8>>();
        let (queued, has_failed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (left, failed) = (Arc::clone(&queued), Arc::clone(&has_failed));
        let write = move || {
            for text in texts {
                if target.write_all(&text).and_then(|()| target.flush()).is_err() {
                    failed.store(true, Ordering::Release);
                }
                left.fetch_sub(text.len(), Ordering::AcqRel);
            }
        };
        if thread::Builder::new().name("proxy".to_owned()).spawn(write).is_err() {
            has_failed.store(true, Ordering::Release);
        }
        Self { queue, queued, has_failed }
    }

    fn push(&self, text: Vec<u8>) {
        if !text.is_empty() && !self.has_failed.load(Ordering::Acquire) {
            self.queued.fetch_add(text.len(), Ordering::AcqRel);
            // The thread ends with this.
            let _ = self.queue.send(text);
        }
    }

    fn is_done(&self) -> bool {
        self.queued.load(Ordering::Acquire) == 0
    }

    /// Whether its reader is gone, or leaves too much unread.
    fn is_given_up(&self) -> bool {
        self.has_failed.load(Ordering::Acquire) || self.queued.load(Ordering::Acquire) > MAX_QUEUED
    }
}
