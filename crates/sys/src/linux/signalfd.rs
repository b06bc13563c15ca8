//! Signals read from a descriptor, and what a program with a terminal does with them.

use rustix::process::Signal;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A `signalfd(2)`.
#[derive(Debug)]
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// Blocks `signals` in this thread and the threads it starts later, and opens a descriptor that
    /// receives them.
    pub fn new(signals: &[Signal]) -> io::Result<Self> {
        let set = signal_set(signals);
        // SAFETY: the set is alive during both calls, and the old mask is not asked for.
        let fd = unsafe {
            if libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above has just returned this descriptor, which has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next pending signal, if there is one.
    pub fn next(&self) -> Option<Signal> {
        let mut record = [0_u8; size_of::<libc::signalfd_siginfo>()];
        let read = rustix::io::read(&self.0, &mut record).ok()?;
        let number = record.get(..4).filter(|_| read == record.len())?;
        Signal::from_named_raw(i32::from_ne_bytes(number.try_into().ok()?))
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn signal_set(signals: &[Signal]) -> libc::sigset_t {
    // SAFETY: an all-zero `sigset_t` is a valid value, which `sigemptyset` initialises; the
    // pointers are to this local.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, signal.as_raw());
        }
        set
    }
}

/// Ignores a signal whose cause is also reported as an error. Children start with its default
/// action.
pub fn ignore_signal(signal: Signal) {
    // SAFETY: SIG_IGN installs no handler.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_IGN) };
}

/// Stops this process with SIGSTOP; returns when it is continued.
pub fn stop_self() {
    // SAFETY: an integer.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Stops this process and its process group with SIGTSTP, SIGTTIN or SIGTTOU, as a terminal does;
/// returns when it is continued, and at once where the group is orphaned and could not be.
pub fn suspend_job(signal: Signal) {
    let stop = signal_set(&[signal]);
    let mut previous = signal_set(&[]);
    // SAFETY: both sets are alive during the calls that use them; the rest are integers.
    unsafe {
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &stop, &mut previous);
        libc::kill(0, signal.as_raw());
        libc::pthread_sigmask(libc::SIG_SETMASK, &previous, std::ptr::null_mut());
    }
}

/// Whether this process is in the foreground group of `terminal`; `None` when that is not its
/// controlling terminal.
pub fn is_foreground(terminal: impl AsFd) -> Option<bool> {
    // SAFETY: integers. A group of another pid namespace is 0 in both answers.
    let (front, own) = unsafe { (libc::tcgetpgrp(terminal.as_fd().as_raw_fd()), libc::getpgrp()) };
    (front >= 0).then_some(front == own)
}

/// Ends this process by the default action of `signal`; returns only where that action does not end
/// it.
pub fn die_by(signal: Signal) {
    let set = signal_set(&[signal]);
    // SAFETY: SIG_DFL installs no handler, the set is alive during the call, the rest are integers.
    unsafe {
        libc::signal(signal.as_raw(), libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal.as_raw());
    }
}
