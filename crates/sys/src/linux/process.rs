//! A process of the host by a pidfd: its PID cannot be reused unnoticed.

use crate::linux::proc_stat::ProcStat;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A process of the host.
#[derive(Debug)]
pub struct Process(OwnedFd);

impl Process {
    /// Opens the process that has this PID and began at `start`; `None` when there is none.
    pub fn open(pid: i32, start: u64) -> Option<Self> {
        // The pidfd before the start time: from here on the PID cannot be reused unnoticed.
        let pidfd = Pid::from_raw(pid).filter(|_| pid > 0);
        let pidfd = pidfd.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())?;
        (Self::start_time(pid) == Some(start)).then_some(Self(pidfd))
    }

    /// When a process began, in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub fn start_time(pid: i32) -> Option<u64> {
        ProcStat::read(pid)?.number(22)
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::TERM)?)
    }

    /// Ends it.
    pub fn kill(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::KILL)?)
    }

    /// Waits for its end, at most until `deadline`; whether it has ended.
    pub fn wait(&self, deadline: Instant) -> bool {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timespec(left))) {
                Ok(0) => return false,
                Err(Errno::INTR) => {}
                _ => return true,
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
