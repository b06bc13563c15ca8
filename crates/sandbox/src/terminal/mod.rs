//! A child in the foreground, and the signals of this program.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(target_os = "linux"))]
mod threads;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use linux::{listen, on_signals, relay, suspend_program};
#[cfg(target_os = "linux")]
pub(crate) use linux::{poll_fd, poll_until};
#[cfg(target_os = "macos")]
pub use macos::{on_signals, suspend_program};
#[cfg(not(target_os = "linux"))]
pub use threads::{Signals, listen, relay};
#[cfg(windows)]
pub use windows::{console, on_signals, suspend_program};

#[cfg(unix)]
use rustix::process::Signal;

/// A signal to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalEvent {
    /// SIGINT: the interrupt key.
    Interrupt,
    /// SIGHUP: the terminal is gone, or the files are to be read again.
    HangUp,
    /// SIGTERM: the program is to end.
    Terminate,
}

#[cfg(unix)]
impl From<Signal> for SignalEvent {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::INT => Self::Interrupt,
            Signal::HUP => Self::HangUp,
            _ => Self::Terminate,
        }
    }
}

/// What the program does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalAction {
    /// It continues.
    Continue,
    /// It ends by the signal.
    Die,
}
