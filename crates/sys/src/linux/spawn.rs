//! Starts a supervisor, a copy of this process, which starts the command, a copy of the supervisor
//! until its `execve`.
//!
//! The supervisor executes no program. It stays undumpable like this process, so the command cannot
//! read its memory.

use crate::linux::child_spec::{ChildSpec, Exec, SupervisionMode};
use crate::linux::fd_limit::{close_range, restore_fd_limit, set_close_on_exec};
use crate::linux::net_namespace::{NetNamespace, reap};
use crate::linux::process_tree::ProcessTree;
use crate::linux::raw_syscall::{
    borrow_fd, exit, kill, ordinary_slices, prefer_short_slices, prefer_short_slices_in_children,
    set_signal_mask, syscall,
};
use crate::linux::report::{Report, receive_descriptor, send_descriptor};
use crate::linux::scrub_argv::ArgvRegion;
use crate::linux::step::{SetupState, Step};
use crate::linux::supervisor::Supervisor;
use rustix::fs::{Access, CWD, Mode, OFlags, access, openat};
use rustix::io::{Errno, Result, fcntl_dupfd_cloexec};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, getppid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal, setsid,
};
use std::ffi::{CString, c_char, c_int};
use std::io;
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;

/// The signal on which a killer kills. It is in the process group of its supervisor, which has this
/// signal blocked.
pub const KILLER_SIGNAL: Signal = Signal::USR1;

/// A started supervisor.
#[derive(Debug)]
pub struct Spawned {
    /// Its pid.
    pub pid: i32,
    /// Whether a killer stands by; see [`ChildSpec::is_scoped`].
    pub has_killer: bool,
    /// Its pidfd.
    pub pidfd: OwnedFd,
    /// The control socket: [`Report`]s come out,
    /// [`SupervisorCommand`](crate::linux::SupervisorCommand)s go in. The supervisor ends its tree
    /// when it is closed.
    pub control: OwnedFd,
}

/// Starts a supervisor for the child that `spec` describes. Its first report says whether the
/// command runs.
///
/// The kernel kills the supervisor, and its tree with it, when this process dies. Its parent-death
/// signal follows the *thread* that called `clone` (W77): the calling thread must live as long as
/// the process.
pub fn spawn(spec: &ChildSpec) -> io::Result<Spawned> {
    let (ours, control) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let child = Child {
        spec,
        argv: pointers(&spec.exec.argv),
        envp: pointers(&spec.exec.envp),
        control,
        argv_region: ArgvRegion::find(),
        tree: ProcessTree::new(),
    };
    let mut pidfd: c_int = -1;
    // No signal handler of this program may run in the copy.
    let mask = set_signal_mask(u64::MAX)?;
    let flags = spec.namespaces | (libc::CLONE_PIDFD | libc::SIGCHLD) as u32;
    // SAFETY: the child calls `run_supervisor`, which keeps the rules of this module and does not
    // return.
    let forked = unsafe {
        match &spec.network {
            None => fork(flags, &mut pidfd),
            Some(network) => fork_in(network, flags, &mut pidfd),
        }
    };
    let pid = match forked {
        Ok(0) => {
            drop(ours);
            child.run_supervisor()
        }
        forked => {
            set_signal_mask(mask)?;
            forked?
        }
    };
    // SAFETY: the kernel has just made this descriptor, which has no other owner.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Spawned { pid, has_killer: spec.is_scoped, pidfd, control: ours })
}

/// `clone(2)` with a copy of this memory, like `fork(2)`, with the exit signal in `flags`. Returns
/// zero in the child.
///
/// # Safety
/// The child may not allocate, take locks or return into code that does: other threads are not
/// copied.
pub(crate) unsafe fn fork(flags: u32, pidfd: &mut c_int) -> Result<i32> {
    // SAFETY: the child has its own copy of the memory and of this stack, and continues here; the
    // kernel writes a pidfd only if the flags ask for one, into a live integer.
    unsafe { syscall!(libc::SYS_clone, flags, 0, ptr::from_mut(pidfd), 0, 0) }.map(|pid| pid as i32)
}

/// The same, from a process that has entered `network` and exits; the new process is a child of
/// this one.
///
/// # Safety
/// As for [`fork`].
unsafe fn fork_in(network: &NetNamespace, flags: u32, pidfd: &mut c_int) -> Result<i32> {
    let (read, write) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // A child with CLONE_PARENT has the exit signal of the process that made it.
    // SAFETY: this child makes system calls and exits; its own child is the caller's.
    let between = unsafe { fork(libc::SIGCHLD as u32, &mut -1) }?;
    if between == 0 {
        let flags = flags | libc::CLONE_PARENT as u32;
        // SAFETY: as above.
        let forked = network.enter().and_then(|()| unsafe { fork(flags, pidfd) });
        match forked {
            Ok(0) => return Ok(0),
            Ok(pid) => {
                let _ = send_descriptor(&write, borrow_fd(*pidfd), pid);
            }
            Err(errno) => Report::SetupFailed(0, errno.raw_os_error()).send(&write),
        }
        exit(0);
    }
    drop(write);
    let received = receive_descriptor(&read);
    reap(between);
    let (fd, pid) = received?;
    *pidfd = fd.into_raw_fd();
    Ok(pid)
}

/// What both new processes need, allocated before the first of them exists.
struct Child<'s> {
    spec: &'s ChildSpec,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    control: OwnedFd,
    argv_region: Option<ArgvRegion>,
    tree: ProcessTree,
}

impl Child<'_> {
    fn run_supervisor(self) -> ! {
        if let Some(region) = self.argv_region {
            region.wipe();
        }
        let killer = match self.set_up() {
            Ok(killer) => killer,
            Err(report) => self.fail(report, None),
        };
        self.send_opened();
        match self.start_command() {
            Err(report) => self.fail(report, killer),
            Ok((command, listener)) => {
                Report::Started.send(&self.control);
                Supervisor::new(self.control, listener, command, killer, self.spec, self.tree).run()
            }
        }
    }

    /// Prepares this process, and returns the killer of its tree where there is one.
    fn set_up(&self) -> std::result::Result<Option<i32>, Report> {
        prefer_short_slices();
        // A session of its own keeps the signals of the terminal's keys away from the supervisor.
        let _ = setsid();
        let mut state = SetupState::default();
        for (at, step) in self.spec.setup.iter().enumerate() {
            step.run(&mut state).map_err(|errno| Report::SetupFailed(at, errno.raw_os_error()))?;
        }
        reset_signal_actions();
        self.protect_self().map_err(|errno| self.setup_failed(errno))?;
        let killer = self.spec.is_scoped.then(start_killer).transpose();
        killer.map_err(|errno| self.setup_failed(errno))
    }

    /// What cannot be opened is not sent.
    fn send_opened(&self) {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for (at, path) in self.spec.opened.iter().enumerate() {
            if let Ok(file) = openat(CWD, path.as_c_str(), flags, Mode::empty()) {
                let _ = send_descriptor(&self.control, file.as_fd(), at as i32);
            }
        }
    }

    fn protect_self(&self) -> Result<()> {
        // Also where the program itself is dumpable: this memory lies next to the command.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        if self.spec.mode != SupervisionMode::Namespace {
            set_child_subreaper(Some(getpid()))?;
        }
        let death_signal = match self.spec.mode {
            // The kernel ends the tree with this process.
            SupervisionMode::Namespace => Signal::KILL,
            // The killer does.
            _ if self.spec.is_scoped => Signal::KILL,
            // A builder that dies while it builds leaves what it has started.
            SupervisionMode::Descendants | SupervisionMode::Builder => Signal::TERM,
        };
        // Last, since a change of credentials clears it. A parent that died before has closed the
        // control socket.
        set_parent_process_death_signal(Some(death_signal))
    }

    /// Forks the command and waits until it runs its program: `execve` closes the socket, a failure
    /// is sent over it, and so is the descriptor on which the command's filter asks.
    fn start_command(&self) -> std::result::Result<(i32, Option<OwnedFd>), Report> {
        let (read, write) = self.status_socket().map_err(|errno| self.setup_failed(errno))?;
        let supervisor = getpid();
        // SAFETY: the child runs prepared steps and then executes its program or exits.
        let command =
            unsafe { fork(libc::SIGCHLD as u32, &mut -1) }.map_err(|errno| self.setup_failed(errno))?;
        if command == 0 {
            self.run_command(supervisor, &write).send(&write);
            exit(127);
        }
        drop(write);
        let mut listener = None;
        match Report::read(&read, &mut listener).map_err(|errno| self.setup_failed(errno))? {
            None => Ok((command, listener)),
            Some(failure) => Err(failure),
        }
    }

    /// A close-on-exec socket pair whose second end has a higher number than every descriptor that
    /// the command's steps set.
    fn status_socket(&self) -> Result<(OwnedFd, OwnedFd)> {
        let numbers = self.spec.command.iter().map(|step| match step {
            Step::DupFd(_, to) => *to,
            _ => 0,
        });
        let (read, write) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((read, fcntl_dupfd_cloexec(&write, numbers.max().unwrap_or(0) + 1)?))
    }

    /// Prepares the command and executes its program; returns what failed.
    fn run_command(&self, supervisor: Pid, status: &OwnedFd) -> Report {
        if let Err(errno) = reset_inherited() {
            return Report::CommandFailed(0, errno.raw_os_error());
        }
        if getppid() != Some(supervisor) {
            // The supervisor was killed before this process asked to be killed with it.
            exit(127);
        }
        if self.spec.mode == SupervisionMode::Builder {
            // It and the first process of its pid namespace end the tree, among busy processes.
            prefer_short_slices_in_children();
        }
        let mut state = SetupState::default();
        for (at, step) in self.spec.command.iter().enumerate() {
            if let Err(errno) = step.run(&mut state) {
                return Report::CommandFailed(at, errno.raw_os_error());
            }
        }
        if let Some(listener) = &state.listener
            && let Err(errno) = send_descriptor(status, listener.as_fd(), 0)
        {
            return Report::CommandFailed(self.spec.command.len(), errno.raw_os_error());
        }
        let (path, argv, envp) = (self.spec.exec.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
        // SAFETY: the path and both null-terminated arrays point into the spec, which is alive.
        let executed = unsafe { syscall!(libc::SYS_execve, path, argv, envp) };
        match executed.err().unwrap_or(Errno::IO) {
            // Asked here, since this process sees the files of the cage.
            Errno::NOENT if access(self.spec.exec.path.as_c_str(), Access::EXISTS).is_ok() => {
                Report::InterpreterMissing
            }
            errno => Report::ExecFailed(errno.raw_os_error()),
        }
    }

    fn fail(&self, report: Report, killer: Option<i32>) -> ! {
        end_killer(killer);
        report.send(&self.control);
        exit(1)
    }

    fn setup_failed(&self, errno: Errno) -> Report {
        Report::SetupFailed(self.spec.setup.len(), errno.raw_os_error())
    }
}

/// Takes `steps` in this process and replaces it by `exec`; returns what failed. For a program of
/// one thread: the steps that confine act on the calling thread.
pub fn confine_and_exec(steps: &[Step], exec: &Exec) -> (Option<usize>, io::Error) {
    ordinary_slices();
    let mut state = SetupState::default();
    for (at, step) in steps.iter().enumerate() {
        if let Err(errno) = step.run(&mut state) {
            return (Some(at), errno.into());
        }
    }
    let (argv, envp) = (pointers(&exec.argv), pointers(&exec.envp));
    // SAFETY: the path and both null-terminated arrays point into `exec`, which is alive.
    let executed = unsafe { syscall!(libc::SYS_execve, exec.path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    (None, executed.err().unwrap_or(Errno::IO).into())
}

/// Starts a process that kills every other process of its Landlock domain, which is the tree, when
/// it gets its signal or the supervisor dies. No process of the tree can signal it.
fn start_killer() -> Result<i32> {
    let supervisor = getpid();
    // SAFETY: the child makes system calls and exits. Without an exit signal, waiting for the tree
    // does not see it.
    let killer = unsafe { fork(0, &mut -1) }?;
    if killer != 0 {
        return Ok(killer);
    }
    // SAFETY: this process uses no descriptor from now on.
    unsafe { close_range(0, i32::MAX) };
    let _ = rustix::thread::set_name(c"picoclaw-killer");
    prefer_short_slices();
    let mask = 1u64 << (KILLER_SIGNAL.as_raw() - 1);
    if set_parent_process_death_signal(Some(KILLER_SIGNAL)).is_ok() && getppid() == Some(supervisor) {
        // SAFETY: a live signal set of the kernel's size; neither details nor a time limit are
        // asked for. All signals are blocked in this process.
        while unsafe { syscall!(libc::SYS_rt_sigtimedwait, &raw const mask, 0, 0, 8) }.is_err() {}
    }
    kill(-1, libc::SIGKILL);
    exit(0)
}

/// Ends a killer that has nothing left to kill.
pub(crate) fn end_killer(killer: Option<i32>) {
    if let Some(killer) = killer {
        kill(killer, libc::SIGKILL);
        // SAFETY: integers; the status is not asked for. Only with this flag a child without an
        // exit signal is waited for.
        let _ = unsafe { syscall!(libc::SYS_wait4, killer, 0, libc::__WALL, 0) };
    }
}

/// In the command: descriptors close at the exec, their limit is the original one, no signal is
/// blocked, and the command is killed when the supervisor ends.
fn reset_inherited() -> Result<()> {
    set_close_on_exec(3);
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_signal_mask(0)?;
    restore_fd_limit()
}

/// Ignored signals stay ignored across an exec (Rust programs ignore SIGPIPE): resets every action
/// to the default.
fn reset_signal_actions() {
    let default = [0u64; 4];
    for signal in 1..=64 {
        // SAFETY: 32 zero bytes are a kernel `sigaction` with the default action; the old one is
        // not asked for.
        let _ = unsafe { syscall!(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0, 8) };
    }
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}
