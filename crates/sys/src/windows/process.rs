//! A process of the host by a handle: its PID is not reused while the handle is open.

use super::{check, own};
use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::time::Instant;
use windows_sys::Win32::Foundation::{FILETIME, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, PROCESS_TERMINATE,
    TerminateProcess, WaitForSingleObject,
};

/// A process of the host.
#[derive(Debug)]
pub struct Process(OwnedHandle);

impl Process {
    /// Opens the process that has this PID and began at `start`; `None` when there is none, or it
    /// belongs to another user.
    pub fn open(pid: i32, start: u64) -> Option<Self> {
        let rights = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE | PROCESS_TERMINATE;
        let process = open(pid, rights)?;
        (start_time(&process) == Some(start)).then_some(Self(process))
    }

    /// When a process began, in units of 100 ns since 1601.
    pub fn start_time(pid: i32) -> Option<u64> {
        start_time(&open(pid, PROCESS_QUERY_LIMITED_INFORMATION)?)
    }

    /// Ends it: Windows has no signal that asks a program without a window to end. Its children are
    /// in jobs that end with it.
    pub fn terminate(&self) -> io::Result<()> {
        self.kill()
    }

    /// Ends it.
    pub fn kill(&self) -> io::Result<()> {
        // SAFETY: the handle is open.
        check(unsafe { TerminateProcess(self.0.as_raw_handle(), 1) })
    }

    /// Waits for its end, at most until `deadline`; whether it has ended.
    pub fn wait(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now()).as_millis();
        // The largest number would be no limit.
        let left = u32::try_from(left).unwrap_or(u32::MAX).min(u32::MAX - 1);
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), left) == WAIT_OBJECT_0 }
    }
}

fn open(pid: i32, rights: u32) -> Option<OwnedHandle> {
    // SAFETY: it takes any numbers; the handle is not inherited.
    own(unsafe { OpenProcess(rights, 0, u32::try_from(pid).ok()?) }).ok()
}

fn start_time(process: &OwnedHandle) -> Option<u64> {
    let [mut created, mut exited, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the handle is open; the results are written to locals.
    check(unsafe {
        GetProcessTimes(
            process.as_raw_handle(),
            &raw mut created,
            &raw mut exited,
            &raw mut kernel,
            &raw mut user,
        )
    })
    .ok()?;
    Some(u64::from(created.dwHighDateTime) << 32 | u64::from(created.dwLowDateTime))
}
