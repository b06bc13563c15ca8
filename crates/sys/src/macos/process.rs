//! A process of the host by its PID and start time: there are no descriptors for processes.

use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::mem::MaybeUninit;
use std::thread;
use std::time::{Duration, Instant};

/// How often a process is looked at.
const CHECK: Duration = Duration::from_millis(20);

/// A process of the host. The start time is compared before each signal: only in the moment between
/// could the PID be reused.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    start: u64,
}

impl Process {
    /// The process that has this PID and began at `start`; `None` when there is none, or it belongs
    /// to another user.
    pub fn open(pid: i32, start: u64) -> Option<Self> {
        let this = Self { pid: Pid::from_raw(pid).filter(|_| pid > 0)?, start };
        this.is_running().then_some(this)
    }

    /// When a process began, in microseconds since 1970.
    pub fn start_time(pid: i32) -> Option<u64> {
        let mut found = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
        let size = i32::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
        // SAFETY: the buffer has the size that is said.
        let written =
            unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, found.as_mut_ptr().cast(), size) };
        if written != size {
            return None;
        }
        // SAFETY: the call has filled it, and every bit pattern is a value of its integers.
        let found = unsafe { found.assume_init() };
        found.pbi_start_tvsec.checked_mul(1_000_000)?.checked_add(found.pbi_start_tvusec)
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    /// Ends it.
    pub fn kill(&self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Waits for its end, at most until `deadline`; whether it has ended.
    pub fn wait(&self, deadline: Instant) -> bool {
        while self.is_running() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::sleep(left.min(CHECK));
        }
        true
    }

    fn is_running(&self) -> bool {
        Self::start_time(self.pid.as_raw_nonzero().get()) == Some(self.start)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        if !self.is_running() {
            return Err(rustix::io::Errno::SRCH.into());
        }
        Ok(kill_process(self.pid, signal)?)
    }
}
