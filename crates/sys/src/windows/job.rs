//! Job objects: the limits of a process tree, and its end.

use super::{check, own};
use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, OwnedHandle};
use std::ptr;
use std::time::Duration;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, IsProcessInJob, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOB_OBJECT_LIMIT_PROCESS_TIME, JOB_OBJECT_UILIMIT_DESKTOP,
    JOB_OBJECT_UILIMIT_DISPLAYSETTINGS, JOB_OBJECT_UILIMIT_EXITWINDOWS, JOB_OBJECT_UILIMIT_GLOBALATOMS,
    JOB_OBJECT_UILIMIT_HANDLES, JOB_OBJECT_UILIMIT_READCLIPBOARD, JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS,
    JOB_OBJECT_UILIMIT_WRITECLIPBOARD, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
    JOBOBJECT_BASIC_UI_RESTRICTIONS, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS,
    JobObjectBasicAccountingInformation, JobObjectBasicUIRestrictions, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Windows, clipboard, settings and session of the desktop: a command needs none of them.
const UI_RESTRICTIONS: u32 = JOB_OBJECT_UILIMIT_DESKTOP
    | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
    | JOB_OBJECT_UILIMIT_EXITWINDOWS
    | JOB_OBJECT_UILIMIT_GLOBALATOMS
    | JOB_OBJECT_UILIMIT_HANDLES
    | JOB_OBJECT_UILIMIT_READCLIPBOARD
    | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
    | JOB_OBJECT_UILIMIT_WRITECLIPBOARD;

/// The unit of times in Windows.
const TICK: Duration = Duration::from_nanos(100);

/// The limits of a process tree. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobLimits {
    /// Processes at a time.
    pub processes: Option<u32>,
    /// Committed memory of all of them, in bytes.
    pub memory: Option<usize>,
    /// Processor time of each, in user mode. A process that has had it is ended.
    pub processor_time: Option<Duration>,
    /// Whether access to the desktop is restricted, unless this process is in a job itself: a job
    /// within another cannot do that.
    pub no_desktop: bool,
}

/// A job. Its processes end when the last handle is closed, also by the death of this process.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// A job with these limits. No process can leave it: neither kind of breakaway is allowed.
    pub fn new(limits: &JobLimits) -> io::Result<Self> {
        // SAFETY: both pointers may be null: default security, no name.
        let job = Self(own(unsafe { CreateJobObjectW(ptr::null(), ptr::null()) })?);
        let mut extended = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let flags = &mut extended.BasicLimitInformation.LimitFlags;
        *flags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
        if let Some(processes) = limits.processes {
            *flags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
            extended.BasicLimitInformation.ActiveProcessLimit = processes;
        }
        if let Some(memory) = limits.memory {
            extended.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
            extended.JobMemoryLimit = memory;
        }
        if let Some(time) = limits.processor_time {
            extended.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME;
            extended.BasicLimitInformation.PerProcessUserTimeLimit =
                i64::try_from(time.as_nanos() / TICK.as_nanos()).unwrap_or(i64::MAX);
        }
        job.set(JobObjectExtendedLimitInformation, &extended)?;
        if limits.no_desktop && !is_in_job()? {
            let ui = JOBOBJECT_BASIC_UI_RESTRICTIONS { UIRestrictionsClass: UI_RESTRICTIONS };
            job.set(JobObjectBasicUIRestrictions, &ui)?;
        }
        Ok(job)
    }

    /// Puts a process into the job and reads back that it is there.
    pub(super) fn assign(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        let mut is_there = 0;
        // SAFETY: both handles are open for the call.
        check(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process.as_raw_handle()) })?;
        // SAFETY: as above; the result is written to a local.
        check(unsafe { IsProcessInJob(process.as_raw_handle(), self.0.as_raw_handle(), &raw mut is_there) })?;
        if is_there == 0 { Err(io::Error::other("the process is not in its job")) } else { Ok(()) }
    }

    /// How many processes are in the job.
    pub fn active_processes(&self) -> io::Result<u32> {
        let mut accounting = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the pointer and the length are those of a local structure of this class.
        check(unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut accounting).cast(),
                size_of::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>() as u32,
                ptr::null_mut(),
            )
        })?;
        Ok(accounting.ActiveProcesses)
    }

    /// Ends every process of the job with this exit code.
    pub fn terminate(&self, code: u32) -> io::Result<()> {
        // SAFETY: the handle is open.
        check(unsafe { TerminateJobObject(self.0.as_raw_handle(), code) })
    }

    fn set<T>(&self, class: JOBOBJECTINFOCLASS, value: &T) -> io::Result<()> {
        let size = size_of::<T>() as u32;
        // SAFETY: callers pass the structure that belongs to `class`; pointer and size are its own.
        check(unsafe {
            SetInformationJobObject(self.0.as_raw_handle(), class, ptr::from_ref(value).cast(), size)
        })
    }
}

/// Whether this process is in a job.
fn is_in_job() -> io::Result<bool> {
    let mut is_there = 0;
    // SAFETY: the pseudo handle of this process is always valid, no job means any, and the result
    // is written to a local.
    check(unsafe { IsProcessInJob(GetCurrentProcess(), ptr::null_mut(), &raw mut is_there) })?;
    Ok(is_there != 0)
}
