//! Signals through a pipe: a handler writes their numbers, and a thread reads them.

use rustix::process::Signal;
use std::io::{self, PipeReader, Read as _};
use std::os::fd::IntoRawFd as _;
use std::sync::atomic::{AtomicI32, Ordering};

/// The writing end; it is never closed.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// The signals of this program, one after the other.
#[derive(Debug)]
pub struct SignalPipe(PipeReader);

impl SignalPipe {
    /// Takes `signals` over. Children start with their default actions.
    pub fn new(signals: &[Signal]) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        // A handler must not wait.
        rustix::io::ioctl_fionbio(&writer, true)?;
        PIPE.store(writer.into_raw_fd(), Ordering::Release);
        for signal in signals {
            // SAFETY: an all-zero `sigaction` is a valid value; the handler has the type that it is
            // called with, and makes no call but write(2).
            let result = unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal.as_raw(), &raw const action, std::ptr::null_mut())
            };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self(reader))
    }

    /// Waits for the next signal; `None` when none can come any more.
    pub fn wait(&mut self) -> Option<Signal> {
        let mut number = [0];
        self.0.read_exact(&mut number).ok()?;
        Signal::from_named_raw(number[0].into())
    }
}

extern "C" fn on_signal(signal: libc::c_int) {
    let number = signal as u8;
    // SAFETY: write(2) may be called by a handler; the byte is a local. The interrupted code finds
    // its errno as it was.
    unsafe {
        let errno = libc::__error();
        let saved = *errno;
        libc::write(PIPE.load(Ordering::Acquire), (&raw const number).cast(), 1);
        *errno = saved;
    }
}

/// Ends this process by the default action of `signal`; returns only where that action does not end
/// it.
pub fn die_by(signal: Signal) {
    // SAFETY: SIG_DFL installs no handler; the rest are integers.
    unsafe {
        libc::signal(signal.as_raw(), libc::SIG_DFL);
        libc::kill(libc::getpid(), signal.as_raw());
    }
}
