//! Signals as something to read: blocked here, and told by a descriptor.
//!
//! Invariant: a signal that is listened to is never lost and never runs a handler.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// A descriptor that tells of signals.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks `signals` for this thread and whatever it starts from now on, and listens to them.
    pub fn listen(signals: &[i32]) -> io::Result<Self> {
        // SAFETY: an all-zero `sigset_t` is a valid value, and is set up by `sigemptyset` before anything reads it;
        // every pointer is to this local for the time of its call.
        let fd = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in signals {
                libc::sigaddset(&mut set, *signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above just made this descriptor, and nobody else has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that came, if one did.
    pub fn next(&self) -> Option<i32> {
        let mut record = [0_u8; std::mem::size_of::<libc::signalfd_siginfo>()];
        let read = rustix::io::read(&self.0, &mut record).ok()?;
        let number = record.get(..4).filter(|_| read == record.len())?;
        i32::from_ne_bytes(number.try_into().ok()?).into()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Lets a signal pass: what it would have told is told by an error instead. A child hears it again.
pub fn ignore(signal: i32) {
    // SAFETY: no handler of ours is installed; the numbers are the kernel's.
    unsafe {
        libc::signal(signal, libc::SIG_IGN);
    }
}

/// Stops this process, whoever may continue it; returns when it is continued.
pub fn stop_self() {
    // SAFETY: `raise` takes a number and touches no memory of ours.
    unsafe {
        libc::raise(libc::SIGSTOP);
    }
}

/// Stops this process and the others of its job, as a terminal's suspend key would; returns when it is continued, and at
/// once where nobody is there to continue a job.
pub fn suspend_job() {
    // SAFETY: an all-zero `sigset_t` is a valid value, and is set up by `sigemptyset` before anything reads it; every
    // pointer is to these locals for the time of its call. `kill` takes numbers.
    unsafe {
        let (mut stop, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut stop);
        libc::sigaddset(&mut stop, libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &stop, &mut before);
        libc::kill(0, libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
}

/// Ends this process as `signal` does to one that does not listen; returns only where the signal does not end one.
pub fn end_by(signal: i32) {
    // SAFETY: an all-zero `sigset_t` is a valid value, and is set up by `sigemptyset` before anything reads it; the
    // pointer is to this local for the time of its call. `signal` installs no handler of ours, `kill` takes numbers.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
}
