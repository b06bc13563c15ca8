//! A thread that handles the signals of a program.

use crate::terminal::{SignalAction, SignalEvent};
use picoclaw_sys::linux::{SignalFd, die_by, suspend_job};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use std::io;
use std::thread;

/// Calls `handle` for each SIGHUP, SIGINT and SIGTERM, on a thread of its own. Called before any
/// other thread is started, so that all of them have these signals blocked.
pub fn on_signals(handle: impl Fn(SignalEvent) -> SignalAction + Send + 'static) -> io::Result<()> {
    let signals = SignalFd::new(&[Signal::HUP, Signal::INT, Signal::TERM])?;
    let listen = move || {
        loop {
            let _interrupted = poll(&mut [PollFd::new(&signals, PollFlags::IN)], None);
            while let Some(signal) = signals.next() {
                if handle(signal.into()) == SignalAction::Die {
                    die_by(signal);
                }
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
    Ok(())
}

/// Stops this program and its job, as a terminal's suspend key does; returns when it is continued.
pub fn suspend_program() {
    suspend_job(Signal::TSTP);
}
