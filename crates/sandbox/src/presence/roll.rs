//! The roll: every program that works for an instance, so that somebody can stop them all.
//!
//! A name on the roll says which process it is and when that began; the lock on it says that it is still there. A number
//! that was given to somebody else since has another beginning, and one from another pid namespace has as well.
//!
//! Invariant: a signal goes to the very process that signed, or to nobody.

use super::error::PresenceError;
use super::lock;
use picoclaw_sys::linux::proc_self_stat;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, ResolveFlags, flock, fstat, mkdirat, openat, openat2,
    statat, unlinkat,
};
use rustix::io::{Errno, read};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where the roll is, below the instance.
const ROOMS: [&str; 2] = ["state", "running"];
const ROLL: &str = "state/running";

/// How a program works for the instance.
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
    Errand,
}

/// Every program that works for an instance.
#[derive(Debug)]
pub struct Roll {
    /// Nothing here is worth waiting for a disk: what a power cut takes away did not survive it either.
    dir: Arc<OwnedFd>,
    path: PathBuf,
}

/// A program's own name on the roll; dropped, it is off again.
#[derive(Debug)]
#[must_use = "the name is off the roll at once"]
pub struct Signed {
    dir: Arc<OwnedFd>,
    name: String,
    _held: OwnedFd,
}

/// A program that runs.
#[derive(Debug)]
pub struct Member {
    /// How it works.
    pub role: Role,
    /// Its number, as it signed.
    pub pid: i32,
    /// `None` when that number is nobody here, or somebody else: it runs in another pid namespace.
    process: Option<OwnedFd>,
}

/// What stopping a program came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It ended when it was told to.
    Ended,
    /// It did not, and was killed.
    Killed,
    /// It runs where no signal of ours reaches it.
    OutOfReach,
    /// It is another user's.
    NotAllowed,
}

impl Role {
    const ALL: [Self; 6] = [Self::Agent, Self::Gateway, Self::Server, Self::Job, Self::Tool, Self::Errand];

    /// The spelling on the roll and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Gateway => "gateway",
            Self::Server => "server",
            Self::Job => "job",
            Self::Tool => "tool",
            Self::Errand => "run",
        }
    }
}

impl Roll {
    /// The roll of the instance at `home`, made if need be.
    pub fn open(home: &Path) -> Result<Self, PresenceError> {
        let (mut dir, mut path) = (lock::home(home)?, home.to_owned());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // For all but the first program it is there, and one step away; what is in the way is found out step by step.
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        if let Ok(dir) = openat2(&dir, ROLL, flags, Mode::empty(), beneath) {
            path.push(ROLL);
            return Ok(Self { dir: Arc::new(dir), path });
        }
        for room in ROOMS {
            path.push(room);
            let mut opened = openat(&dir, room, flags, Mode::empty());
            // It is there for all but the first program, so it is made only when it is missed.
            if opened.as_ref().is_err_and(|errno| *errno == Errno::NOENT) {
                match mkdirat(&dir, room, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(PresenceError::of("make", &path)(errno)),
                }
                opened = openat(&dir, room, flags, Mode::empty());
            }
            dir = opened.map_err(PresenceError::of("open", &path))?;
        }
        Ok(Self { dir: Arc::new(dir), path })
    }

    /// Signs for this process.
    pub fn sign(&self, role: Role) -> Result<Signed, PresenceError> {
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        let began: Option<u64> = proc_self_stat().nth(START).and_then(|field| field.parse().ok());
        let name = format!("{}-{pid}-{}", role.as_str(), began.unwrap_or_default());
        let fault = |verb| PresenceError::of(verb, &self.path);
        loop {
            let held = self.file(&name, OFlags::CREATE).map_err(fault("sign in"))?;
            flock(&held, FlockOperation::LockExclusive).map_err(fault("sign in"))?;
            let signed = fstat(&held).map_err(fault("sign in"))?;
            let named = statat(&*self.dir, &name, AtFlags::SYMLINK_NOFOLLOW);
            // Whoever looked in between took the name of one who had not signed yet for a killed one's.
            if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (signed.st_dev, signed.st_ino)) {
                return Ok(Signed { dir: Arc::clone(&self.dir), name, _held: held });
            }
        }
    }

    /// Every program that runs, but this one. Names of programs that were killed go.
    pub fn others(&self) -> Result<Vec<Member>, PresenceError> {
        let fault = |verb| PresenceError::of(verb, &self.path);
        let mut members = Vec::new();
        for entry in Dir::read_from(&*self.dir).map_err(fault("list"))? {
            let entry = entry.map_err(fault("list"))?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let Some(member) = member(name) else { continue };
            let Ok(file) = self.file(name, OFlags::empty()) else { continue };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => unlinkat(&*self.dir, name, AtFlags::empty()).map_err(fault("tidy"))?,
                Err(_) => members.push(member),
            }
        }
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        members.retain(|member| member.pid != own || member.process.is_none());
        Ok(members)
    }

    fn file(&self, name: &str, how: OFlags) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | how;
        openat(&*self.dir, name, flags, Mode::RUSR | Mode::WUSR)
    }
}

impl Drop for Signed {
    fn drop(&mut self) {
        // Left behind, it is unlocked, and goes with the next look.
        let _ = unlinkat(&*self.dir, &self.name, AtFlags::empty());
    }
}

impl Member {
    /// Tells it to end; says why it cannot be told, when it cannot.
    pub fn tell(&self) -> Result<(), Stopped> {
        let process = self.process.as_ref().ok_or(Stopped::OutOfReach)?;
        match pidfd_send_signal(process, Signal::TERM) {
            Err(Errno::PERM) => Err(Stopped::NotAllowed),
            // Gone already is what was wanted.
            _ => Ok(()),
        }
    }

    /// Waits until `deadline` for one that was told, and then ends it.
    pub fn stop(self, deadline: Instant) -> Stopped {
        let Some(process) = &self.process else { return Stopped::OutOfReach };
        if is_gone(process, deadline) {
            return Stopped::Ended;
        }
        // What it started hangs on it and ends with it; what it wrote is whole or not there.
        let _gone = pidfd_send_signal(process, Signal::KILL);
        is_gone(process, Instant::now() + Duration::from_secs(5));
        Stopped::Killed
    }
}

fn is_gone(process: &OwnedFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return false,
            Err(Errno::INTR) => {}
            _ => return true,
        }
    }
}

/// Who signed under this name; `None` when it is no such name.
fn member(name: &str) -> Option<Member> {
    let mut parts = name.splitn(3, '-');
    let (role, pid, start) = (parts.next()?, parts.next()?, parts.next()?);
    let role = Role::ALL.into_iter().find(|known| known.as_str() == role)?;
    let (pid, start): (i32, u64) = (pid.parse().ok()?, start.parse().ok()?);
    let process = Pid::from_raw(pid).filter(|_| pid > 0);
    // The handle first: from here on the number cannot pass to anybody else unnoticed.
    let process = process.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    Some(Member { role, pid, process: process.filter(|_| began(pid) == Some(start)) })
}

/// Where a process's stat tells when it began, counted from behind its name.
const START: usize = 19;

/// When a process began, in the kernel's ticks since the machine started.
fn began(pid: i32) -> Option<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, format!("/proc/{pid}/stat"), flags, Mode::empty()).ok()?;
    let mut bytes = [0; 1024];
    let count = read(&file, &mut bytes).ok()?;
    let text = String::from_utf8_lossy(bytes.get(..count)?);
    // The program's name stands in parentheses and may hold anything, parentheses too.
    text.rsplit_once(')')?.1.split_whitespace().nth(START)?.parse().ok()
}
