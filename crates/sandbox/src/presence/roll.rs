//! The roll: every program that works for an instance, so that somebody can stop them all.
//!
//! A name on the roll says which process it is and when that began; the lock on it says that it is still there. A number
//! that was given to somebody else since has another beginning, and one from another pid namespace has as well.
//!
//! Invariant: a signal goes to the very process that signed, or to nobody.

use crate::shelf::{Book, Shelf, ShelfError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, read};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// The shelf's name.
const ROOM: &str = "running";

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
}

/// Every program that works for an instance.
#[derive(Debug)]
pub struct Roll(Shelf);

/// A program's own name on the roll; dropped, it is off again.
#[derive(Debug)]
#[must_use = "the name is off the roll at once"]
pub struct Signed {
    shelf: Shelf,
    name: String,
    _held: Book,
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
    const ALL: [Self; 4] = [Self::Agent, Self::Gateway, Self::Server, Self::Job];

    /// The spelling on the roll and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Gateway => "gateway",
            Self::Server => "server",
            Self::Job => "job",
        }
    }
}

impl Roll {
    /// The roll of the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, ShelfError> {
        Shelf::open(home, ROOM).map(Self)
    }

    /// Signs for this process.
    pub fn sign(&self, role: Role) -> Result<Signed, ShelfError> {
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        let name = format!("{}-{pid}-{}", role.as_str(), began(pid).unwrap_or_default());
        let held = self.0.hold(&name, Duration::from_secs(1))?;
        Ok(Signed { shelf: self.0.clone(), name, _held: held })
    }

    /// Every program that runs, but this one. Names of programs that were killed go.
    pub fn others(&self) -> Result<Vec<Member>, ShelfError> {
        let mut members = Vec::new();
        for item in self.0.list()? {
            match self.0.hold(&item.name, Duration::ZERO) {
                Ok(_gone) => self.0.remove(&item.name)?,
                Err(ShelfError::Busy { .. }) => members.extend(member(&item.name)),
                Err(why) => return Err(why),
            }
        }
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        members.retain(|member| member.pid != own || member.process.is_none());
        Ok(members)
    }
}

impl Drop for Signed {
    fn drop(&mut self) {
        // Left behind, it is unlocked, and goes with the next look.
        let _ = self.shelf.remove(&self.name);
    }
}

impl Member {
    /// Tells it to end.
    pub fn tell(&self) {
        if let Some(process) = &self.process {
            let _gone = pidfd_send_signal(process, Signal::TERM);
        }
    }

    /// Waits for its end until `deadline`, and then ends it.
    pub fn stop(self, deadline: Instant) -> Stopped {
        let Some(process) = &self.process else { return Stopped::OutOfReach };
        if pidfd_send_signal(process, Signal::TERM) == Err(Errno::PERM) {
            return Stopped::NotAllowed;
        }
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

/// When a process began, in the kernel's ticks since the machine started.
fn began(pid: i32) -> Option<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, format!("/proc/{pid}/stat"), flags, Mode::empty()).ok()?;
    let mut bytes = [0; 1024];
    let count = read(&file, &mut bytes).ok()?;
    let text = String::from_utf8_lossy(bytes.get(..count)?);
    // The program's name stands in parentheses and may hold anything, parentheses too.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
