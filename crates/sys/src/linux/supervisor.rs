//! The process between picoclaw and a command: it reaps, forwards signals, and ends the process
//! tree.
//!
//! Invariant: a supervisor exits only after every process of its tree has ended, unless it is
//! killed itself.

use crate::linux::child_spec::{ChildSpec, SupervisionMode};
use crate::linux::fd_limit::close_range;
use crate::linux::process_tree::ProcessTree;
use crate::linux::raw_syscall::{exit, kill, now_ms, syscall};
use crate::linux::report::{Report, SupervisorCommand};
use crate::linux::seccomp_listener;
use crate::linux::signalfd::SignalFd;
use crate::linux::spawn::{end_killer, fork};
use crate::linux::step::foreground_group;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, Signal, WaitOptions, getpid, setsid, wait};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// From SIGTERM to SIGKILL, in milliseconds.
const TERMINATE_MS: i64 = 2_000;
/// The same for what a command left running when it ended, and for everything when picoclaw is
/// gone.
const LEFTOVER_MS: i64 = 250;
/// Between two rounds of SIGKILL while processes are left.
const KILL_AGAIN_MS: i64 = 20;
/// Between two checks of System V memory.
const SYSTEM_V_CHECK_MS: i64 = 50;
/// The number of the control socket in the supervisor.
const CONTROL_FD: i32 = 3;
/// The number of the descriptor on which the command's seccomp filter asks.
const LISTENER_FD: i32 = 4;

pub(crate) struct Supervisor {
    /// `None` once the parent has closed its end.
    control: Option<OwnedFd>,
    /// Where the command's seccomp filter asks, if it does.
    listener: Option<OwnedFd>,
    own_pid: i32,
    command: i32,
    /// The process that ends the tree when the supervisor is killed, where signals are scoped.
    killer: Option<i32>,
    mode: SupervisionMode,
    is_scoped: bool,
    system_v_limit: u64,
    /// When the tree is ended, on the clock of [`now_ms`].
    deadline: Option<i64>,
    tree: ProcessTree,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    /// SIGTERM was sent; SIGKILL follows at this time.
    Ending(i64),
}

/// What became of the children since the last look.
enum Reaped {
    /// Some are left. The command's wait status, if it ended just now.
    Some(Option<i32>),
    /// None is left. The command's wait status, if it ended just now.
    All(Option<i32>),
}

/// Why the supervisor woke up.
enum Event {
    Command(SupervisorCommand),
    ParentGone,
}

impl Supervisor {
    pub(crate) fn new(
        control: OwnedFd,
        listener: Option<OwnedFd>,
        command: i32,
        killer: Option<i32>,
        spec: &ChildSpec,
        tree: ProcessTree,
    ) -> Self {
        let ChildSpec { mode, is_scoped, system_v_limit, deadline, .. } = *spec;
        let to_ms = |time: Duration| i64::try_from(time.as_millis()).ok()?.checked_add(now_ms());
        let deadline = deadline.and_then(to_ms);
        let own_pid = getpid().as_raw_pid();
        let control = Some(control);
        Self { control, listener, own_pid, command, killer, mode, is_scoped, system_v_limit, deadline, tree }
    }

    /// Supervises until the tree has ended.
    pub(crate) fn run(mut self) -> ! {
        let _ = rustix::thread::set_name(c"picoclaw-superv");
        self.release_descriptors();
        let end_signals = [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT];
        let [term, hup, int, quit] = end_signals;
        let Ok(signals) = SignalFd::new(&[Signal::CHILD, term, hup, int, quit]) else { exit(1) };
        let mut phase = Phase::Running;
        let mut ended = None;
        loop {
            match self.reap(phase) {
                Reaped::All(status) => {
                    end_killer(self.killer);
                    // The parent need not wait until the kernel has taken this process's namespaces
                    // apart.
                    self.report(Report::TreeEnded(status.or(ended).unwrap_or(libc::SIGKILL)));
                    exit(0);
                }
                Reaped::Some(Some(status)) => {
                    self.report(Report::CommandEnded(status));
                    ended = Some(status);
                }
                Reaped::Some(None) => {}
            }
            if ended.is_some() && phase == Phase::Running {
                phase = self.terminate(LEFTOVER_MS);
            }
            if let Phase::Ending(at) = phase
                && now_ms() >= at
            {
                phase = self.kill_tree(ended.is_some());
            }
            if phase == Phase::Running && self.exceeds_system_v_limit() {
                self.report(Report::OutOfMemory);
                phase = self.kill_tree(false);
            }
            if let (Phase::Running, Some(deadline)) = (phase, self.deadline)
                && now_ms() >= deadline
            {
                self.report(Report::TimedOut);
                // From the deadline on: among a thousand busy processes this one can wake up a
                // second late.
                let _ = self.terminate(TERMINATE_MS);
                phase = Phase::Ending(deadline + TERMINATE_MS);
            }
            self.wait(&signals, phase);
            while let Some(signal) = signals.next() {
                if phase == Phase::Running && end_signals.contains(&signal) {
                    phase = self.terminate(TERMINATE_MS);
                }
            }
            match self.receive() {
                Some(Event::Command(SupervisorCommand::Terminate)) if phase == Phase::Running => {
                    phase = self.terminate(TERMINATE_MS);
                }
                Some(Event::Command(SupervisorCommand::Kill)) => phase = self.kill_tree(ended.is_some()),
                Some(Event::Command(SupervisorCommand::Forward(signal))) => self.forward(signal),
                Some(Event::Command(SupervisorCommand::Foreground)) => self.to_foreground(),
                Some(Event::ParentGone) => phase = self.terminate(LEFTOVER_MS),
                Some(Event::Command(SupervisorCommand::Terminate)) | None => {}
            }
        }
    }

    fn report(&self, report: Report) {
        if let Some(control) = &self.control {
            report.send(control);
        }
    }

    /// Moves the control socket and the listener to known numbers and closes every other
    /// descriptor.
    fn release_descriptors(&mut self) {
        let control = self.control.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        // Above both numbers first, so that neither move closes the source of the other.
        let listener = self.listener.take().and_then(|fd| fcntl_dupfd_cloexec(fd, LISTENER_FD + 1).ok());
        // SAFETY: integers. This process uses no descriptor but these two from now on; the owners
        // of the others, in its copy of the parent's memory, are never dropped, since the process
        // ends by `_exit`.
        unsafe {
            let _ = syscall!(libc::SYS_dup3, control, CONTROL_FD, libc::O_CLOEXEC);
            let moved = OwnedFd::from_raw_fd(CONTROL_FD);
            std::mem::forget(self.control.replace(moved));
            let mut kept = CONTROL_FD;
            if let Some(listener) = listener {
                let _ = syscall!(libc::SYS_dup3, listener.as_raw_fd(), LISTENER_FD, libc::O_CLOEXEC);
                std::mem::forget(listener);
                self.listener = Some(OwnedFd::from_raw_fd(LISTENER_FD));
                kept = LISTENER_FD;
            }
            close_range(0, CONTROL_FD - 1);
            close_range(kept + 1, i32::MAX);
        }
    }

    /// Reaps every child that has ended, and reports a stop of the command.
    fn reap(&self, phase: Phase) -> Reaped {
        let mut ended = None;
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Err(Errno::CHILD) => return Reaped::All(ended),
                Ok(None) | Err(_) => return Reaped::Some(ended),
                Ok(Some((pid, _))) if pid.as_raw_pid() != self.command => {}
                Ok(Some((_, status))) if !status.stopped() => ended = Some(status.as_raw()),
                Ok(Some((_, status))) if phase == Phase::Running => {
                    self.report(Report::Stopped(status.stopping_signal().unwrap_or(libc::SIGSTOP)));
                }
                Ok(Some(_)) => {}
            }
        }
    }

    /// Asks the tree to end; SIGKILL follows after `grace` milliseconds.
    fn terminate(&mut self, grace: i64) -> Phase {
        // In a process and a session of their own: signals to a thousand processes would use up the
        // time that the scheduler grants this session among theirs, and the supervisor would be
        // late with SIGKILL. SAFETY: the child makes system calls and exits.
        let forked = unsafe { fork(libc::SIGCHLD as u32, &mut -1) };
        if matches!(forked, Ok(0)) {
            let _ = setsid();
        }
        if !matches!(forked, Ok(1..)) {
            self.signal_tree(Signal::TERM);
            // A stopped process does not act on SIGTERM before it is continued.
            self.signal_tree(Signal::CONT);
        }
        if matches!(forked, Ok(0)) {
            exit(0);
        }
        Phase::Ending(now_ms() + grace)
    }

    /// Kills the whole tree. In a pid namespace this ends the supervisor: from the exit of its
    /// first process on the kernel lets none of the others fork and kills them, and the parent is
    /// told when they are gone.
    fn kill_tree(&mut self, has_command_ended: bool) -> Phase {
        if self.mode == SupervisionMode::Namespace {
            if !has_command_ended {
                self.report(Report::CommandEnded(libc::SIGKILL));
            }
            exit(0);
        }
        if self.mode == SupervisionMode::Builder && !has_command_ended {
            // The kernel ends the namespaces that it has built with it.
            kill(self.command, libc::SIGKILL);
        }
        if !self.is_scoped {
            // Stopped first, so that no process is replaced by its child between two scans.
            self.signal_tree(Signal::STOP);
        }
        self.signal_tree(Signal::KILL);
        Phase::Ending(now_ms() + KILL_AGAIN_MS)
    }

    /// Sends a signal to every process of the tree.
    fn signal_tree(&mut self, signal: Signal) {
        let is_spared = self.is_spared(signal);
        if self.mode == SupervisionMode::Namespace || (self.is_scoped && !is_spared) {
            // The first process of a pid namespace reaches every other one in it by -1, a process
            // in a Landlock domain that scopes signals every other one of its domain. None of them
            // can fork while it is signalled.
            return kill(-1, signal.as_raw());
        }
        let spared = is_spared.then_some(self.command);
        if !self.tree.signal(self.own_pid, signal, spared) {
            kill(-self.command, signal.as_raw());
        }
    }

    /// Whether the command is a builder that would end the tree at once when it gets this signal.
    fn is_spared(&self, signal: Signal) -> bool {
        let is_harmless_or_final = [Signal::KILL, Signal::STOP, Signal::CONT].contains(&signal);
        self.mode == SupervisionMode::Builder && !is_harmless_or_final
    }

    /// Sends a signal to the command's process group, or to the whole tree of a builder, whose
    /// command leads another group.
    fn forward(&mut self, signal: Signal) {
        if self.mode == SupervisionMode::Builder {
            self.signal_tree(signal);
        } else {
            kill(-self.command, signal.as_raw());
        }
    }

    /// Makes the command's process group the foreground group of the session's terminal.
    fn to_foreground(&self) {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = openat(CWD, c"/dev/tty", flags, Mode::empty());
        if let (Ok(terminal), Some(command)) = (terminal, Pid::from_raw(self.command)) {
            // A terminal that is gone has no foreground.
            let _ = foreground_group(&terminal, command);
        }
    }

    /// Whether the segments of this IPC namespace, attached or not, are larger than the limit.
    /// Where a cgroup does not count them, only a process in the namespace can.
    fn exceeds_system_v_limit(&self) -> bool {
        self.system_v_limit > 0 && system_v_bytes() > self.system_v_limit
    }

    /// Waits for a signal, a command or the time of the next action.
    fn wait(&mut self, signals: &SignalFd, phase: Phase) {
        let at = match phase {
            Phase::Ending(at) => Some(at),
            Phase::Running => {
                let check = (self.system_v_limit > 0).then(|| now_ms() + SYSTEM_V_CHECK_MS);
                self.deadline.into_iter().chain(check).min()
            }
        };
        let timeout = at.map(|at| {
            let left = (at - now_ms()).max(0);
            Timespec { tv_sec: left / 1000, tv_nsec: (left % 1000) * 1_000_000 }
        });
        let control = self.control.as_ref().map_or(signals.as_fd(), AsFd::as_fd);
        let listener = self.listener.as_ref().map_or(signals.as_fd(), AsFd::as_fd);
        let mut ready = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(control, PollFlags::IN),
            PollFd::from_borrowed_fd(listener, PollFlags::IN),
        ];
        let _ = poll(&mut ready, timeout.as_ref());
        let [.., asked] = ready;
        let asked = asked.revents();
        match &self.listener {
            Some(listener) if asked.contains(PollFlags::IN) => seccomp_listener::answer(listener.as_fd()),
            // No process with the filter is left; the descriptor would stay ready.
            Some(_) if !asked.is_empty() => self.listener = None,
            _ => {}
        }
    }

    /// Receives one message of the parent, if there is one.
    fn receive(&mut self) -> Option<Event> {
        let mut message = [0u8; 2];
        match recv(self.control.as_ref()?, &mut message, RecvFlags::DONTWAIT) {
            Ok((2, _)) => SupervisorCommand::decode(message).map(Event::Command),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Ok(_) | Err(_) => {
                // A closed socket would stay readable.
                self.control = None;
                Some(Event::ParentGone)
            }
        }
    }
}

/// The memory of all System V segments of this IPC namespace that is in use.
fn system_v_bytes() -> u64 {
    const SHM_INFO: i32 = 14;
    // `struct shm_info`: an integer, then five words; the second of these is the number of resident
    // pages, the third of those in swap.
    let mut info = [0u64; 6];
    // SAFETY: an integer argument.
    let page_bytes = unsafe { libc::getauxval(libc::AT_PAGESZ) };
    // SAFETY: a live structure that is as long as the kernel's.
    match unsafe { syscall!(libc::SYS_shmctl, 0, SHM_INFO, info.as_mut_ptr()) } {
        Ok(_) => info[2].saturating_add(info[3]).saturating_mul(page_bytes),
        Err(_) => 0,
    }
}
