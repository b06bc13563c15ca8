//! A thread that handles the signals of a program.

use super::{SignalAction, SignalEvent};
use picoclaw_sys::macos::{SignalPipe, die_by};
use rustix::process::{Signal, kill_current_process_group};
use std::io;
use std::thread;

/// Calls `handle` for each SIGHUP, SIGINT and SIGTERM, on a thread of its own.
pub fn on_signals(handle: impl Fn(SignalEvent) -> SignalAction + Send + 'static) -> io::Result<()> {
    let mut signals = SignalPipe::new(&[Signal::HUP, Signal::INT, Signal::TERM])?;
    let listen = move || {
        while let Some(signal) = signals.wait() {
            if handle(signal.into()) == SignalAction::Die {
                die_by(signal);
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
    Ok(())
}

/// Stops this program and its job, as a terminal's suspend key does; returns when it is continued.
pub fn suspend_program() {
    // It fails where the group is gone, and then there is nothing to stop.
    let _ = kill_current_process_group(Signal::TSTP);
}
