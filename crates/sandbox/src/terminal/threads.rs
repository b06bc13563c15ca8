//! A child in the foreground without `poll`: signals, deadline, and copies of its streams.

use super::{SignalAction, on_signals};
use crate::launch::{Running, Status};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often signals are looked at.
const EVENT_CHECK: Duration = Duration::from_millis(50);

/// How long the rest of the output is copied to a reader that takes none.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The signals that concern a child in the foreground.
#[derive(Debug, Clone)]
pub struct Signals(Arc<AtomicBool>);

impl Signals {
    /// Whether the person asked for an end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Listens to signals. Called before the child is started, so that none is missed.
pub fn listen() -> io::Result<Signals> {
    let signals = Signals(Arc::new(AtomicBool::new(false)));
    let shared = signals.clone();
    on_signals(move |_| {
        shared.0.store(true, Ordering::Release);
        SignalAction::Continue
    })?;
    Ok(signals)
}

/// Copies the streams of this process, and waits for the child's end. A signal ends it.
pub fn relay(running: &mut Running, signals: &Signals) -> Status {
    if let Some(stdin) = running.take_stdin() {
        // It waits for input that may never come, so nothing waits for it.
        spawn(move || io::copy(&mut io::stdin().lock(), &mut File::from(stdin)).map(drop));
    }
    let stdout = running.take_stdout();
    let stderr = running.take_stderr();
    let copies: Vec<_> = [
        stdout.and_then(|pipe| spawn(move || io::copy(&mut File::from(pipe), &mut io::stdout()).map(drop))),
        stderr.and_then(|pipe| spawn(move || io::copy(&mut File::from(pipe), &mut io::stderr()).map(drop))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let status = loop {
        if let Some(status) = running.wait_for(EVENT_CHECK) {
            break status;
        }
        if signals.is_interrupted() {
            running.end();
            break Status::Halted;
        }
    };
    let until = Instant::now() + DRAIN_TIMEOUT;
    while copies.iter().any(|copy| !copy.is_finished()) && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    status
}

/// Without a thread a stream is closed.
fn spawn(copy: impl FnOnce() -> io::Result<()> + Send + 'static) -> Option<JoinHandle<()>> {
    // The other end may be gone.
    thread::Builder::new().name("relay".to_owned()).spawn(move || drop(copy())).ok()
}
