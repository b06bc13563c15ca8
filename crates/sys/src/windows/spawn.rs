//! Starts a child: created suspended, put into its job, checked, and only then resumed.

use super::command_line::{CommandLineFault, command_line, environment_block};
use super::job::{Job, JobLimits};
use super::token::{RestrictedToken, check_process_is_low};
use super::{check, own};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::io::{AsHandle as _, AsRawHandle as _, BorrowedHandle, OwnedHandle};
use std::path::PathBuf;
use std::ptr;
use std::time::Duration;
use windows_sys::Win32::Foundation::{
    DUPLICATE_SAME_ACCESS, DuplicateHandle, HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT,
    CreateProcessAsUserW, CreateProcessW, DeleteProcThreadAttributeList, EXTENDED_STARTUPINFO_PRESENT,
    GetCurrentProcess, GetExitCodeProcess, INFINITE, InitializeProcThreadAttributeList,
    LPPROC_THREAD_ATTRIBUTE_LIST, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROCESS_INFORMATION, ResumeThread,
    STARTF_USESTDHANDLES, STARTUPINFOEXW, TerminateProcess, UpdateProcThreadAttribute, WaitForSingleObject,
};

/// The exit code of a child that was ended before it ran.
const NOT_STARTED: u32 = 125;

/// What to start.
#[derive(Debug)]
pub struct ChildSpec<'a> {
    /// The program, by its path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard input, output and error. The child gets no other handle.
    pub streams: [BorrowedHandle<'a>; 3],
    /// The limits of its process tree.
    pub limits: JobLimits,
    /// The token of a confined child, whose integrity level has been lowered.
    pub token: Option<&'a RestrictedToken>,
}

/// The step that failed. Nothing runs then.
#[derive(Debug)]
pub struct SpawnError {
    /// What was being done.
    pub step: &'static str,
    /// Why it failed.
    pub source: io::Error,
}

impl std::fmt::Display for SpawnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.step, self.source)
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<CommandLineFault> for SpawnError {
    fn from(fault: CommandLineFault) -> Self {
        Self { step: "build the command line", source: io::Error::new(io::ErrorKind::InvalidInput, fault) }
    }
}

fn at(step: &'static str) -> impl FnOnce(io::Error) -> SpawnError {
    move |source| SpawnError { step, source }
}

/// A running child and its job. Dropping it ends the process tree.
#[derive(Debug)]
pub struct Spawned {
    process: OwnedHandle,
    job: Job,
    /// The process id.
    pub pid: u32,
}

/// Starts what `spec` describes.
pub fn spawn(spec: &ChildSpec<'_>) -> Result<Spawned, SpawnError> {
    let program = wide(spec.program.as_os_str());
    let mut line = command_line(spec.program.as_os_str(), &spec.args)?;
    let environment = environment_block(&spec.environment)?;
    let cwd = wide(spec.cwd.as_os_str());
    if cwd.iter().filter(|unit| **unit == 0).count() != 1 {
        return Err(CommandLineFault::Nul.into());
    }
    let job = Job::new(&spec.limits).map_err(at("create the job"))?;
    let streams = inheritable(&spec.streams).map_err(at("duplicate the streams"))?;
    let handles: [HANDLE; 3] = [0, 1, 2].map(|at| streams[at].as_raw_handle());
    let attributes = AttributeList::of_handles(&handles).map_err(at("list the handles"))?;

    let mut startup = STARTUPINFOEXW::default();
    startup.StartupInfo.cb = size_of::<STARTUPINFOEXW>() as u32;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    [startup.StartupInfo.hStdInput, startup.StartupInfo.hStdOutput, startup.StartupInfo.hStdError] = handles;
    startup.lpAttributeList = attributes.list();
    let flags = CREATE_SUSPENDED
        | CREATE_UNICODE_ENVIRONMENT
        | CREATE_NEW_PROCESS_GROUP
        | CREATE_NO_WINDOW
        | EXTENDED_STARTUPINFO_PRESENT;
    let mut created = PROCESS_INFORMATION::default();
    // SAFETY: every text has a NUL at its end; the command line is writable; the startup structure,
    // its attribute list and the handles named in it outlive the call; the result is written to a
    // local.
    let result = unsafe {
        let (program, line, cwd) = (program.as_ptr(), line.as_mut_ptr(), cwd.as_ptr());
        let environment = environment.as_ptr().cast();
        let startup = (&raw const startup).cast();
        let created = &raw mut created;
        match spec.token {
            Some(token) => CreateProcessAsUserW(
                token.handle().as_raw_handle(),
                program,
                line,
                ptr::null(),
                ptr::null(),
                1,
                flags,
                environment,
                cwd,
                startup,
                created,
            ),
            None => CreateProcessW(
                program,
                line,
                ptr::null(),
                ptr::null(),
                1,
                flags,
                environment,
                cwd,
                startup,
                created,
            ),
        }
    };
    check(result).map_err(at("create the process"))?;
    let process = own(created.hProcess).map_err(at("create the process"))?;
    let thread = own(created.hThread).map_err(at("create the process"))?;
    let suspended = Suspended { process: Some(process), thread };
    suspended.release(job, spec.token.is_some(), created.dwProcessId)
}

/// A child that has run no instruction yet. Dropping it ends it.
struct Suspended {
    process: Option<OwnedHandle>,
    thread: OwnedHandle,
}

impl Suspended {
    fn release(mut self, job: Job, is_confined: bool, pid: u32) -> Result<Spawned, SpawnError> {
        let Some(process) = &self.process else {
            return Err(at("create the process")(io::Error::other("there is none")));
        };
        job.assign(process.as_handle()).map_err(at("put the process into its job"))?;
        if is_confined {
            check_process_is_low(process.as_handle()).map_err(at("read back the integrity level"))?;
        }
        // SAFETY: the handle is that of the child's first thread.
        if unsafe { ResumeThread(self.thread.as_raw_handle()) } == u32::MAX {
            return Err(at("resume the process")(io::Error::last_os_error()));
        }
        match self.process.take() {
            Some(process) => Ok(Spawned { process, job, pid }),
            None => Err(at("resume the process")(io::Error::other("there is none"))),
        }
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            // SAFETY: the handle is open. A failure leaves a process that never runs.
            unsafe { TerminateProcess(process.as_raw_handle(), NOT_STARTED) };
        }
    }
}

impl Spawned {
    /// The exit code, when the child ends within `timeout`; without one, whenever it ends.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<Option<u32>> {
        let milliseconds = timeout.map_or(INFINITE, |timeout| {
            u32::try_from(timeout.as_millis()).unwrap_or(INFINITE - 1).min(INFINITE - 1)
        });
        // SAFETY: the handle is open.
        match unsafe { WaitForSingleObject(self.process.as_raw_handle(), milliseconds) } {
            WAIT_OBJECT_0 => {}
            WAIT_TIMEOUT => return Ok(None),
            _ => return Err(io::Error::last_os_error()),
        }
        let mut code = 0;
        // SAFETY: the handle is open, and the code is written to a local.
        check(unsafe { GetExitCodeProcess(self.process.as_raw_handle(), &raw mut code) })?;
        Ok(Some(code))
    }

    /// The job of the process tree.
    pub fn job(&self) -> &Job {
        &self.job
    }
}

/// Copies of handles that a child can inherit.
fn inheritable(handles: &[BorrowedHandle<'_>; 3]) -> io::Result<Vec<OwnedHandle>> {
    let duplicate = |handle: &BorrowedHandle<'_>| {
        let mut copy = ptr::null_mut();
        // SAFETY: the pseudo handle of this process is valid, as is the handle; the copy is written
        // to a local.
        check(unsafe {
            let own_process = GetCurrentProcess();
            let source = handle.as_raw_handle();
            DuplicateHandle(own_process, source, own_process, &raw mut copy, 0, 1, DUPLICATE_SAME_ACCESS)
        })?;
        own(copy)
    };
    handles.iter().map(duplicate).collect()
}

/// The attributes of a new process: the handles that it inherits, and no others.
struct AttributeList<'h> {
    buffer: Vec<u64>,
    _handles: std::marker::PhantomData<&'h [HANDLE]>,
}

impl<'h> AttributeList<'h> {
    fn of_handles(handles: &'h [HANDLE]) -> io::Result<Self> {
        let mut size = 0;
        // SAFETY: without a buffer the call only says how large one must be.
        unsafe { InitializeProcThreadAttributeList(ptr::null_mut(), 1, 0, &raw mut size) };
        let mut buffer = vec![0_u64; size.div_ceil(8).max(1)];
        let list: LPPROC_THREAD_ATTRIBUTE_LIST = buffer.as_mut_ptr().cast();
        // SAFETY: the buffer has the size that the call asked for.
        check(unsafe { InitializeProcThreadAttributeList(list, 1, 0, &raw mut size) })?;
        let this = Self { buffer, _handles: std::marker::PhantomData };
        // SAFETY: the list is initialized; the handles outlive it, which their lifetime says.
        check(unsafe {
            UpdateProcThreadAttribute(
                list,
                0,
                PROC_THREAD_ATTRIBUTE_HANDLE_LIST as usize,
                handles.as_ptr().cast(),
                size_of_val(handles),
                ptr::null_mut(),
                ptr::null(),
            )
        })?;
        Ok(this)
    }

    fn list(&self) -> LPPROC_THREAD_ATTRIBUTE_LIST {
        self.buffer.as_ptr().cast_mut().cast()
    }
}

impl Drop for AttributeList<'_> {
    fn drop(&mut self) {
        // SAFETY: the list was initialized and is not used afterwards.
        unsafe { DeleteProcThreadAttributeList(self.list()) };
    }
}

fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}
