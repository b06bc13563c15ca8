//! Two processes for one command: a keeper by `clone`, and the command itself by `vfork`.
//!
//! The keeper is a copy of this process that never executes anything: it prepares, starts the command, lets go of
//! every descriptor and then only reaps. It stays undumpable like its origin, so the command cannot look into it.
//!
//! Invariant: the command's program runs only after every step of its script has succeeded.

use crate::linux::descriptors;
use crate::linux::keeper::Keeper;
use crate::linux::own::own_stat;
use crate::linux::raw::{call, close, exit};
use crate::linux::report::Report;
use crate::linux::script::{Keeping, News, Script};
use crate::linux::step::Progress;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// What a parent can ask of a keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End the tree: SIGTERM, two seconds, SIGKILL.
    End,
    /// End the tree with SIGKILL now.
    Kill,
    /// Hand this signal to the command's process group.
    Forward(i32),
    /// The parent is gone: never sent, only found out.
    Orphaned,
}

impl Order {
    /// The order as it goes over the control socket.
    pub fn encode(self) -> [u8; 2] {
        match self {
            Self::End => [b'E', 0],
            Self::Kill => [b'K', 0],
            Self::Orphaned => [0, 0],
            Self::Forward(signal) => [b'F', u8::try_from(signal).unwrap_or(0)],
        }
    }

    pub(crate) fn decode(bytes: [u8; 2]) -> Option<Self> {
        match bytes {
            [b'E', _] => Some(Self::End),
            [b'K', _] => Some(Self::Kill),
            [b'F', signal @ 1..=64] => Some(Self::Forward(i32::from(signal))),
            _ => None,
        }
    }
}

/// A started keeper.
#[derive(Debug)]
pub struct Spawned {
    /// Its process number.
    pub pid: i32,
    /// Its identity, which no other process will ever have.
    pub pidfd: OwnedFd,
    /// Reports come out of it, [`Order`]s go into it; closing it ends the tree.
    pub control: OwnedFd,
}

/// Starts a keeper that carries `script` out. Its first report says whether the command runs.
///
/// The child hangs on the control socket: when that closes, with this process or before, its tree ends. The kernel's
/// own parent-death signal follows the *thread* that cloned (W77), so it is asked for only where that is the main one.
pub fn spawn(script: &Script) -> io::Result<Spawned> {
    let (ours, theirs) = control_pair()?;
    let argv = pointers(&script.exec.argv);
    let envp = pointers(&script.exec.envp);
    let child = Child {
        script,
        argv: argv.as_ptr(),
        envp: envp.as_ptr(),
        control: theirs.as_raw_fd(),
        parent_end: ours.as_raw_fd(),
        on_main_thread: on_main_thread(),
        words: arguments_and_environment(),
    };
    let mask = block_signals()?;
    let mut pidfd: c_int = -1;
    let flags = u64::from(script.namespaces) | (libc::CLONE_PIDFD | libc::SIGCHLD) as u64;
    // SAFETY: without CLONE_VM the child has a copy of this memory and of this stack, and continues here like a
    // forked process; the kernel writes the pidfd into a live integer. What the child then runs is free of
    // allocation and locks.
    let cloned = unsafe { call!(libc::SYS_clone, flags, 0, &raw mut pidfd, 0, 0) };
    if cloned == Ok(0) {
        child.become_keeper(STACK.top());
    }
    restore_signals(mask);
    let pid = cloned.map_err(io::Error::from_raw_os_error)? as i32;
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Spawned { pid, pidfd, control: ours })
}

/// The stack of a command until it executes its program. Only a keeper uses it, in its own copy of this memory; here
/// nothing is ever written to it, so it takes no page and any number of threads may start children.
#[repr(align(16))]
struct Stack(UnsafeCell<[u8; 64 << 10]>);

// SAFETY: this process only takes its address; whoever writes has a memory of its own.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(UnsafeCell::new([0; 64 << 10]));

impl Stack {
    fn top(&self) -> *mut c_void {
        // SAFETY: one past the last byte of a live array.
        unsafe { self.0.get().add(1).cast() }
    }
}

/// What both new processes need, in memory that they share or copied.
struct Child<'s> {
    script: &'s Script,
    argv: *const *const c_char,
    envp: *const *const c_char,
    control: i32,
    parent_end: i32,
    on_main_thread: bool,
    words: (usize, usize),
}

/// What the command leaves behind when it could not become its program.
struct Start<'c> {
    child: &'c Child<'c>,
    failure: Option<Report>,
}

impl Child<'_> {
    fn become_keeper(&self, stack_top: *mut c_void) -> ! {
        close(self.parent_end);
        self.forget_words();
        if let Err(report) = self.prepare() {
            report.send(self.control);
            exit(1);
        }
        let mut start = Start { child: self, failure: None };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack is 64 KiB of this process's memory that nobody else uses, and CLONE_VFORK holds this process until the
        // command has executed or ended, so `start` outlives its use and is not touched meanwhile.
        let main = unsafe { libc::clone(become_command, stack_top, flags, (&raw mut start).cast()) };
        // SAFETY: `start` is alive; volatile because another process has written it.
        let failure = unsafe { ptr::read_volatile(&raw const start.failure) };
        match (main, failure) {
            (-1, _) => Report::SetupFailed(self.script.setup.len(), libc::EAGAIN).send(self.control),
            (_, Some(report)) => report.send(self.control),
            (_, None) => {
                if self.script.news == News::StartAndEnd {
                    Report::Started.send(self.control);
                }
                let (keeping, memory_watch) = (self.script.keeping, self.script.memory_watch);
                Keeper { control: self.control, main, keeping, memory_watch, next_look: 0 }.keep()
            }
        }
        exit(1)
    }

    /// Wipes the copy of our arguments and environment: anybody in the cage may read its first process's command line.
    fn forget_words(&self) {
        let (start, end) = self.words;
        if start != 0 {
            // SAFETY: the kernel put arguments and environment there, on the main thread's stack, at our own start;
            // this process has a private copy of that memory and reads neither any more.
            unsafe { ptr::write_bytes(start as *mut u8, 0, end.saturating_sub(start)) };
        }
    }

    fn prepare(&self) -> Result<(), Report> {
        // SAFETY: integers only. A session of its own keeps the terminal's Ctrl-C away from the keeper.
        let _ = unsafe { call!(libc::SYS_setsid) };
        let death = match self.script.keeping {
            Keeping::Namespace => libc::SIGKILL,
            Keeping::Descendants | Keeping::Builder => libc::SIGTERM,
        };
        let mut progress = Progress::new();
        for (at, step) in self.script.setup.iter().enumerate() {
            step.run(&mut progress).map_err(|errno| Report::SetupFailed(at, errno))?;
        }
        let failed = |errno| Report::SetupFailed(self.script.setup.len(), errno);
        default_signals();
        // SAFETY: integers only.
        unsafe {
            // Whatever the program itself is: this copy of its memory stays next to the command.
            call!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 0, 0, 0, 0).map_err(failed)?;
            if self.script.keeping != Keeping::Namespace {
                call!(libc::SYS_prctl, libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).map_err(failed)?;
            }
            // Last of all: a change of credentials would clear it again. A parent that died earlier is noticed
            // by the closed control socket.
            if self.on_main_thread {
                call!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, death, 0, 0, 0).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Runs in the keeper's memory, on a stack of its own.
    fn become_command(&self) -> Report {
        let mut progress = Progress::new();
        for (at, step) in self.script.command.iter().enumerate() {
            if let Err(errno) = step.run(&mut progress) {
                return Report::CommandFailed(at, errno);
            }
        }
        let exec = &self.script.exec;
        // SAFETY: the path and both null-terminated arrays point into the script, which is alive.
        match unsafe { call!(libc::SYS_execve, exec.path.as_ptr(), self.argv, self.envp) } {
            Ok(_) => Report::ExecFailed(libc::EIO),
            Err(errno) => Report::ExecFailed(errno),
        }
    }
}

extern "C" fn become_command(start: *mut c_void) -> c_int {
    // SAFETY: `start` is the keeper's live `Start`, and the keeper is held by CLONE_VFORK.
    let start = unsafe { &mut *start.cast::<Start<'_>>() };
    if let Err(errno) = inherit_nothing() {
        start.failure = Some(Report::CommandFailed(0, errno));
        exit(127);
    }
    start.failure = Some(start.child.become_command());
    exit(127)
}

/// Descriptors close at the exec, their limit is the host's, signals are as for a new login, and the keeper's end is the command's.
fn inherit_nothing() -> Result<(), i32> {
    let nothing = 0u64;
    // SAFETY: integers, and a live, empty signal mask of the kernel's size.
    unsafe {
        if call!(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC).is_err() {
            mark_close_on_exec();
        }
        call!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0)?;
        call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const nothing, 0, 8)?;
    }
    descriptors::as_found()
}

/// For kernels before 5.11; every descriptor number this process could have.
fn mark_close_on_exec() {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a live rlimit that the kernel fills, then integers only.
    unsafe {
        let _ = call!(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, 0, &raw mut limit);
        for fd in 3..i32::try_from(limit.rlim_max.min(1 << 20)).unwrap_or(1 << 20) {
            let _ = call!(libc::SYS_fcntl, fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Ignored signals survive an exec (SIGPIPE is ignored in every Rust program): all go back to their default.
fn default_signals() {
    let default = [0u64; 4];
    for signal in 1..=64 {
        // SAFETY: 32 zero bytes are a kernel `sigaction` that asks for the default; no old one is asked for.
        let _ = unsafe { call!(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0, 8) };
    }
}

/// Where the kernel put our arguments and our environment, as `/proc/self/stat` tells; nowhere when it does not.
fn arguments_and_environment() -> (usize, usize) {
    // Counted from the third field: the 48th is the first argument's address, the 51st the end of the environment.
    let mut addresses = own_stat().skip(45).filter_map(|field| field.parse::<usize>().ok());
    match (addresses.next(), addresses.nth(2)) {
        (Some(start), Some(end)) if start != 0 && start < end && end - start < (8 << 20) => (start, end),
        _ => (0, 0),
    }
}

fn on_main_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

fn control_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

fn pointers(strings: &[std::ffi::CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// No handler of ours may run in the copy.
fn block_signals() -> io::Result<u64> {
    let (all, mut old) = (u64::MAX, 0u64);
    // SAFETY: two live masks of the kernel's size.
    unsafe { call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all, &raw mut old, 8) }
        .map_err(io::Error::from_raw_os_error)?;
    Ok(old)
}

fn restore_signals(mask: u64) {
    // SAFETY: a live mask that the kernel itself gave us before.
    let _ = unsafe { call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, 0, 8) };
}
