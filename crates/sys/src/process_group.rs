//! Children that lead a session and process group of their own, for Unix systems without a
//! supervisor.
//!
//! A process that leaves the group, with setsid(2) or setpgid(2), is not ended. Neither is any when
//! this program is killed. It is compiled on every Unix, so that its tests run on Linux too.

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, fchdir, kill_process_group, setsid, test_kill_process_group, waitid,
};
use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a child is looked at.
const CHECK: Duration = Duration::from_millis(10);
/// From SIGTERM to SIGKILL, for what a child left running when it ended.
const LEFTOVER: Duration = Duration::from_millis(250);
/// The most descriptors that are kept from a child.
const MAX_DESCRIPTORS: i32 = 1 << 16;

/// What to start.
#[derive(Debug)]
pub struct ChildSpec<'a> {
    /// The program, by its absolute path.
    pub program: PathBuf,
    /// Its arguments, beginning with its name.
    pub argv: Vec<OsString>,
    /// Its working directory.
    pub work_dir: BorrowedFd<'a>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard input, output and error. The child gets no other descriptor.
    pub streams: [BorrowedFd<'a>; 3],
}

/// A running child. It has to be waited for, so that it does not remain as a zombie.
#[derive(Debug)]
pub struct Spawned {
    pid: Pid,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    child: Child,
    /// Set once the child was reaped. Its group is not signalled from then on, since the number may
    /// be another's.
    status: Option<ExitStatus>,
}

/// Starts what `spec` describes. An error of the program itself is that of execve(2).
#[expect(clippy::disallowed_types, reason = "the launcher starts children through this")]
pub fn spawn(spec: &ChildSpec<'_>) -> io::Result<Spawned> {
    let mut command = std::process::Command::new(&spec.program);
    if let Some((name, arguments)) = spec.argv.split_first() {
        command.arg0(name).args(arguments);
    }
    command.env_clear().envs(spec.environment.iter().map(|(name, value)| (name, value)));
    let [stdin, stdout, stderr] = spec.streams;
    command.stdin(stdin.try_clone_to_owned()?);
    command.stdout(stdout.try_clone_to_owned()?).stderr(stderr.try_clone_to_owned()?);
    let work_dir = spec.work_dir.try_clone_to_owned()?;
    let prepare = move || {
        // Without a controlling terminal it can neither read keys nor be stopped for writing.
        setsid()?;
        fchdir(&work_dir)?;
        close_on_exec();
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls alone; it neither allocates nor
    // takes a lock.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    Ok(Spawned { pid, state: Mutex::new(State { child, status: None }) })
}

/// Marks every descriptor behind the standard streams. Not every system opens them so in one step.
fn close_on_exec() {
    // SAFETY: integers. For a number that is not open the call fails, which is right.
    unsafe {
        for number in 3..libc::getdtablesize().min(MAX_DESCRIPTORS) {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

impl Spawned {
    /// Its process id, which is that of its group.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// How it ended, if it does within `timeout`; without one, whenever it ends. What it left in
    /// its group is ended.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<Option<ExitStatus>> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(status) = self.reap()? {
                return Ok(Some(status));
            }
            let Some(until) = until else {
                // It fails when another thread has reaped the child meanwhile.
                if waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).is_err() {
                    thread::sleep(CHECK);
                }
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            thread::sleep(left.min(CHECK));
        }
    }

    /// Sends a signal to every process of its group, as long as the child was not waited for.
    pub fn signal(&self, signal: Signal) {
        let state = self.lock();
        if state.status.is_none() {
            // It fails where all of them have ended.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Reaps the child if it has ended. Until then its process id, and so its group's, is not given
    /// to another.
    fn reap(&self) -> io::Result<Option<ExitStatus>> {
        let mut state = self.lock();
        if state.status.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            if waitid(WaitId::Pid(self.pid), options)?.is_some() {
                self.end_leftovers();
                state.status = Some(state.child.wait()?);
            }
        }
        Ok(state.status)
    }

    fn end_leftovers(&self) {
        if kill_process_group(self.pid, Signal::TERM).is_err() {
            return;
        }
        let until = Instant::now() + LEFTOVER;
        while Instant::now() < until && test_kill_process_group(self.pid).is_ok() {
            thread::sleep(CHECK);
        }
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
