//! Two processes for one command: a keeper, a copy of this process, and the command itself, a copy of the keeper until it
//! executes its program.
//!
//! The keeper never executes anything: it prepares, starts the command, lets go of every descriptor and then only reaps. It
//! stays undumpable like its origin, so the command cannot look into it.
//!
//! Invariant: the command's program runs only after every step of its script has succeeded.

use crate::linux::descriptors;
use crate::linux::keeper::Keeper;
use crate::linux::raw::{call, close, exit};
use crate::linux::report::Report;
use crate::linux::script::{Keeping, News, Script};
use crate::linux::step::{Progress, Step};
use crate::linux::words::Words;
use std::ffi::{c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;

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
pub fn spawn(script: &Arc<Script>) -> io::Result<Spawned> {
    let (ours, theirs) = control_pair()?;
    let child = Child {
        script: Arc::clone(script),
        argv: pointers(&script.exec.argv),
        envp: pointers(&script.exec.envp),
        control: theirs.as_raw_fd(),
        parent_end: ours.as_raw_fd(),
        on_main_thread: on_main_thread(),
        words: Words::find(),
    };
    let mask = block_signals()?;
    let made = child.start();
    restore_signals(mask);
    let (pid, pidfd) = made.map_err(io::Error::from_raw_os_error)?;
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Spawned { pid, pidfd, control: ours })
}

/// What both new processes need, in their copies of this memory.
struct Child {
    script: Arc<Script>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    control: i32,
    parent_end: i32,
    on_main_thread: bool,
    words: Option<Words>,
}

impl Child {
    /// Makes a keeper with a copy of our memory; its number and its pidfd.
    fn start(self) -> Result<(i32, c_int), i32> {
        let mut pidfd: c_int = -1;
        // SAFETY: without CLONE_VM the child has a copy of this memory and of this stack, and continues here like a
        // forked process; the kernel writes the pidfd into a live integer. What the child then runs is free of
        // allocation and locks.
        let flags = u64::from(self.script.namespaces) | (libc::CLONE_PIDFD | libc::SIGCHLD) as u64;
        let pid = unsafe { call!(libc::SYS_clone, flags, 0, &raw mut pidfd, 0, 0)? };
        if pid == 0 {
            if let Some(words) = self.words {
                // Anybody in the cage may read its first process's command line.
                words.forget();
            }
            self.become_keeper();
        }
        Ok((pid as i32, pidfd))
    }

    fn become_keeper(&self) -> ! {
        close(self.parent_end);
        match self.prepare().and_then(|()| self.start_command()) {
            Err(report) => report.send(self.control),
            Ok(main) => {
                if self.script.news == News::StartAndEnd {
                    Report::Started.send(self.control);
                }
                let (keeping, memory_watch) = (self.script.keeping, self.script.memory_watch);
                Keeper { control: self.control, main, keeping, memory_watch, next_look: 0, failed_looks: 0 }
                    .keep()
            }
        }
        exit(1)
    }

    /// Forks the command and waits until its program runs: a successful exec closes the pipe, a failure is written to it.
    fn start_command(&self) -> Result<i32, Report> {
        let failed = |errno| Report::SetupFailed(self.script.setup.len(), errno);
        let (read, write) = self.status_pipe().map_err(failed)?;
        // SAFETY: without CLONE_VM the child has a copy of this memory and continues here like a forked process; what it
        // then runs is free of allocation and locks.
        let main = unsafe { call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) }.map_err(failed)?;
        if main == 0 {
            self.become_command().write(write);
            exit(127);
        }
        close(write);
        match Report::read(read).map_err(failed)? {
            None => Ok(main as i32),
            Some(report) => Err(report),
        }
    }

    /// A pipe whose write end lies above every descriptor that the command sets.
    fn status_pipe(&self) -> Result<(i32, i32), i32> {
        let targets = self.script.command.iter().map(|step| match step {
            Step::Descriptor(_, to) => *to,
            _ => 0,
        });
        let above = targets.max().unwrap_or(0) + 1;
        let mut ends = [-1i32; 2];
        // SAFETY: the kernel writes two descriptors into a live array; the rest are integers.
        unsafe {
            call!(libc::SYS_pipe2, ends.as_mut_ptr(), libc::O_CLOEXEC)?;
            let [read, write] = ends;
            let moved = call!(libc::SYS_fcntl, write, libc::F_DUPFD_CLOEXEC, above)? as i32;
            close(write);
            Ok((read, moved))
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
            // Whatever the program itself is: this memory stays next to the command.
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

    fn become_command(&self) -> Report {
        if let Err(errno) = inherit_nothing() {
            return Report::CommandFailed(0, errno);
        }
        let mut progress = Progress::new();
        for (at, step) in self.script.command.iter().enumerate() {
            if let Err(errno) = step.run(&mut progress) {
                return Report::CommandFailed(at, errno);
            }
        }
        let exec = &self.script.exec;
        // SAFETY: the path and both null-terminated arrays point into the script, which is alive.
        match unsafe { call!(libc::SYS_execve, exec.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr()) } {
            Ok(_) => Report::ExecFailed(libc::EIO),
            Err(errno) => Report::ExecFailed(errno),
        }
    }
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
