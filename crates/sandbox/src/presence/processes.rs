//! The registry of running programs, so that `picoclaw stop` can end them all.
//!
//! The name of an entry holds a PID and the start time of that process; the lock on the entry says
//! that it still runs. A PID that was reused since has another start time, and so has one of
//! another pid namespace: a signal reaches the process that registered, or none.

use super::error::PresenceError;
use crate::file_lock::FileLock;
use crate::os_file::OFlags;
use crate::state_dir::{StateDir, StateError};
use picoclaw_sys::Process;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a killed process may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Which program of an instance it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `picoclaw agent`.
    Agent,
    /// `picoclaw gateway`.
    Gateway,
    /// `picoclaw mcp serve`.
    Server,
    /// `picoclaw cron run`.
    Job,
    /// `picoclaw tool`.
    Tool,
    /// `picoclaw run` and `picoclaw mcp wrap`.
    Run,
}

/// The running programs of an instance.
#[derive(Debug)]
pub struct ProcessRegistry {
    /// Never synced: what a power cut removes here did not survive it either.
    dir: StateDir,
}

/// The entry of this process; dropping it removes it.
#[derive(Debug)]
#[must_use = "dropping it removes the entry at once"]
pub struct Registration {
    dir: StateDir,
    name: String,
    _lock: FileLock,
}

/// A program that runs.
#[derive(Debug)]
pub struct RunningProcess {
    /// Which one it is.
    pub role: Role,
    /// Its PID, as it registered.
    pub pid: i32,
    /// `None` when no process here has that PID and start time: it runs in another pid namespace.
    process: Option<Process>,
}

/// The result of stopping a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It ended after SIGTERM.
    Ended,
    /// It did not, and was killed.
    Killed,
    /// It runs in another pid namespace.
    OutOfReach,
    /// It belongs to another user.
    NotAllowed,
}

impl Role {
    const ALL: [Self; 6] = [Self::Agent, Self::Gateway, Self::Server, Self::Job, Self::Tool, Self::Run];

    /// The spelling in the registry and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Gateway => "gateway",
            Self::Server => "server",
            Self::Job => "job",
            Self::Tool => "tool",
            Self::Run => "run",
        }
    }
}

impl ProcessRegistry {
    /// The registry of the instance at `home`, created if need be.
    pub fn open(home: &Path) -> Result<Self, PresenceError> {
        Ok(Self { dir: StateDir::open(home, "running")? })
    }

    /// Adds this process, and removes the entries of programs that were killed.
    pub fn register(&self, role: Role) -> Result<Registration, PresenceError> {
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        let name = format!("{}-{pid}-{}", role.as_str(), Process::start_time(pid).unwrap_or_default());
        // Removes the entries of programs that were killed: no other call may come for a long time.
        self.others()?;
        let open = || self.dir.created(&name, OFlags::RDWR);
        // `others` may take the entry, not locked yet, for that of a killed process, and remove it.
        let lock = self.dir.lock_named(&name, open, |file| FileLock::exclusive(file).map(Some))?;
        let busy = || StateError::Busy { path: self.dir.path().join(&name), waited: Duration::ZERO };
        Ok(Registration { _lock: lock.ok_or_else(busy)?, dir: self.dir.clone(), name })
    }

    /// Every program that runs, but this one. Removes the entries of programs that were killed.
    pub fn others(&self) -> Result<Vec<RunningProcess>, PresenceError> {
        let mut processes = Vec::new();
        for (name, process, file) in self.entries()? {
            match FileLock::try_exclusive(file) {
                // Its program, or another that looked, may have removed it meanwhile.
                Ok(Some(_lock)) => {
                    self.dir.unlink(&name)?;
                }
                Ok(None) | Err(_) => processes.push(process),
            }
        }
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        processes.retain(|process| process.pid != own || process.process.is_none());
        Ok(processes)
    }

    /// The entries of programs that were killed; [`ProcessRegistry::others`] removes them.
    pub fn stale_entries(&self) -> Result<Vec<PathBuf>, PresenceError> {
        let mut stale = Vec::new();
        for (name, _, file) in self.entries()? {
            if matches!(FileLock::try_exclusive(file), Ok(Some(_))) {
                stale.push(self.dir.path().join(name));
            }
        }
        Ok(stale)
    }

    /// The entries by name, each with its process and its file.
    fn entries(&self) -> Result<impl Iterator<Item = (String, RunningProcess, File)>, StateError> {
        Ok(self.dir.list()?.into_iter().filter_map(|entry| {
            let process = find_process(&entry.name)?;
            let file = self.dir.file(&entry.name, OFlags::RDWR).ok()??;
            Some((entry.name, process, file))
        }))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // An entry that stays is unlocked, and the next call of `others` removes it.
        let _ = self.dir.unlink(&self.name);
    }
}

impl RunningProcess {
    /// Sends SIGTERM; says why that is not possible, when it is not.
    pub fn terminate(&self) -> Result<(), Stopped> {
        let process = self.process.as_ref().ok_or(Stopped::OutOfReach)?;
        match process.terminate() {
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Err(Stopped::NotAllowed),
            // A process that has ended already needs no signal.
            _ => Ok(()),
        }
    }

    /// Waits until `deadline` for a process that was sent SIGTERM, then kills it.
    pub fn wait_or_kill(self, deadline: Instant) -> Stopped {
        let Some(process) = &self.process else { return Stopped::OutOfReach };
        if process.wait(deadline) {
            return Stopped::Ended;
        }
        // Its children end with it, and its files are replaced as a whole.
        let _ = process.kill();
        process.wait(Instant::now() + KILL_TIMEOUT);
        Stopped::Killed
    }
}

/// The process of an entry; `None` when the name is not that of an entry.
fn find_process(name: &str) -> Option<RunningProcess> {
    let mut parts = name.splitn(3, '-');
    let (role, pid, start) = (parts.next()?, parts.next()?, parts.next()?);
    let role = Role::ALL.into_iter().find(|known| known.as_str() == role)?;
    let (pid, start): (i32, u64) = (pid.parse().ok()?, start.parse().ok()?);
    Some(RunningProcess { role, pid, process: Process::open(pid, start) })
}
