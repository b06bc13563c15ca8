//! Progress of work that takes longer than a second: a line on standard error, if that is a
//! terminal.
//!
//! The line is erased before other messages and at the end. A terminal without cursor movement gets
//! it once, and a pipe nothing.

use crate::style::{Liveness, Mark, Style, Tone, size};
use crate::units::format_seconds;
use std::io::{self, IsTerminal, StderrLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shorter work shows nothing.
const DELAY: Duration = Duration::from_secs(1);

/// Redraw interval.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// Whether the line is on the terminal. Read and written with standard error locked.
static IS_DRAWN: AtomicBool = AtomicBool::new(false);

/// Shows progress until it is dropped.
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Work that begins now. `what` is printable, such as `examining this host`.
    pub(crate) fn of(what: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let variable = |name: &str| std::env::var(name).ok();
        let liveness = Liveness::of(io::stderr(), variable("TERM").as_deref());
        let style = Style::of_environment(variable, liveness);
        let (stop, stopped) = channel();
        let what = what.to_owned();
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let thread = thread.spawn(move || show(&what, &stopped, &style, liveness));
        Self(thread.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ended = thread.join();
        }
    }
}

/// Standard error, without the line.
pub(crate) fn stderr() -> StderrLock<'static> {
    let mut err = io::stderr().lock();
    if IS_DRAWN.swap(false, Ordering::Relaxed) {
        let _gone = err.write_all(b"\r\x1b[K");
    }
    err
}

/// Draws until the other end is dropped.
fn show(what: &str, stopped: &Receiver<()>, style: &Style, liveness: Liveness) {
    let began = Instant::now();
    let mut wait = DELAY;
    for frame in 0.. {
        if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        let mut err = stderr();
        if liveness == Liveness::Still {
            let _gone = writeln!(err, "{what} {}", style.mark(Mark::More));
            return;
        }
        let dot = style.mark(Mark::Dot);
        let line = format!("{} {what} {dot} {}", style.spin(frame), format_seconds(began.elapsed()));
        // One column short of the width, so that it never wraps.
        let line = style.fit(&line, size(io::stderr()).0.saturating_sub(1));
        let _gone = write!(err, "{}", style.paint(Tone::Quiet, &line)).and_then(|()| err.flush());
        IS_DRAWN.store(true, Ordering::Relaxed);
        wait = FRAME_INTERVAL;
    }
    drop(stderr());
}
