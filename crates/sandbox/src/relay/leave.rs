//! A program with a terminal of its own that is told to end: first it tidies up.
//!
//! Invariant: whoever is told to end, ends, by the very signal that said so.

use picoclaw_sys::linux::{SignalFd, die_by, suspend_job};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use std::io;
use std::thread;

/// What a program is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Somebody pressed the interrupt key, or sent its signal.
    Interrupt,
    /// Its terminal is gone, or whoever runs it wants it to read its files again.
    HangUp,
    /// The program is to end.
    End,
}

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It goes on.
    Stay,
    /// It ends by the signal.
    End,
}

/// Lets `heard` know of every interrupt and of the end, on a thread of its own. To be called before any other thread
/// is started, so that none of them is ended in its place.
pub fn on_signals(heard: impl Fn(Told) -> Then + Send + 'static) -> io::Result<()> {
    let signals = SignalFd::new(&[Signal::HUP, Signal::INT, Signal::TERM])?;
    let listen = move || {
        loop {
            let _interrupted = poll(&mut [PollFd::new(&signals, PollFlags::IN)], None);
            while let Some(signal) = signals.next() {
                let told = match signal {
                    Signal::INT => Told::Interrupt,
                    Signal::HUP => Told::HangUp,
                    _ => Told::End,
                };
                if heard(told) == Then::End {
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
    suspend_job();
}
