//! The agent on `direct`: a turn beside `sh -c`, and what an idle session holds.
//!
//! Invariant: the session is ended by its own terminal, and waited for.

use super::Stop;
use super::instance::BenchInstance;
use super::measure::time;
use super::process::{command, race, resident};
use super::table::Table;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// How many commands a session runs before it is looked at again.
const LINES: usize = 1_000;

/// After how many of them everything that is needed once is there.
const EARLY: usize = 100;

/// How long a prompt may take.
const PATIENCE: i64 = 30;

/// One turn, and an idle session.
pub(crate) fn measured(picoclaw: &Path, instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let mut own = command(picoclaw, instance, &["agent", "-m", "echo hello"]);
    let mut peer = command(Path::new("sh"), instance, &["-c", "echo hello"]);
    let [own, peer] = race([&mut own, &mut peer])?;
    let (own_time, peer_time) = (time(own.wall.median()), time(peer.wall.median()));
    let what =
        format!("`picoclaw agent -m` on `direct` / `sh -c`, start to answer ({own_time} / {peer_time})");
    table.told(&what, &own.wall.over(&peer.wall).times());
    table.told("  processor time alone", &own.processor.over(&peer.processor).times());

    let mut session = Session::open(picoclaw, instance)?;
    let fresh = session.resident()?;
    table.told("resident memory of an idle session", &megabytes(fresh));
    let mut early = f64::NAN;
    for line in 1..=LINES {
        session.say("true")?;
        if line == EARLY {
            early = session.resident()?;
        }
    }
    let used = session.resident()?;
    table.told(&format!("  after {LINES} commands"), &megabytes(used));
    let what = format!("  … of which added by all but the first {EARLY}");
    table.told(&what, &megabytes(used - early));
    session.leave()
}

fn megabytes(bytes: f64) -> String {
    format!("{:.2} MB", bytes / 1e6)
}

/// A session at a terminal of its own.
struct Session {
    terminal: OwnedFd,
    child: std::process::Child,
}

impl Session {
    fn open(picoclaw: &Path, instance: &BenchInstance) -> Result<Self, Stop> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let end = ioctl_tiocgptpeer(&terminal, flags)?;
        let mut command = command(picoclaw, instance, &["agent"]);
        // In a project it would ask whether to work there.
        command.current_dir(&instance.home).env("TERM", "xterm");
        command.stdin(end.try_clone()?).stdout(end.try_clone()?).stderr(end);
        let child = command.spawn()?;
        // The command keeps the child's ends open, and an end of file would never come.
        drop(command);
        let mut session = Self { terminal, child };
        session.prompt()?;
        Ok(session)
    }

    /// Types a line, and waits until the next one can be typed.
    fn say(&mut self, line: &str) -> Result<(), Stop> {
        rustix::io::write(&self.terminal, format!("{line}\r").as_bytes())?;
        self.prompt()
    }

    /// Reads until the prompt stands there and nothing follows it.
    fn prompt(&mut self) -> Result<(), Stop> {
        let mut seen = Vec::new();
        loop {
            let is_there = seen.windows(6).any(|window| window == b"main> ") && is_asking(&seen);
            let wait = Timespec { tv_sec: if is_there { 0 } else { PATIENCE }, tv_nsec: 20_000_000 };
            let mut ready = [PollFd::from_borrowed_fd(self.terminal.as_fd(), PollFlags::IN)];
            if poll(&mut ready, Some(&wait))? == 0 {
                return if is_there { Ok(()) } else { Err("the session shows no prompt".into()) };
            }
            let mut piece = [0; 4096];
            let count = rustix::io::read(&self.terminal, &mut piece)?;
            seen.extend_from_slice(&piece[..count]);
        }
    }

    fn resident(&self) -> Result<f64, Stop> {
        resident(self.child.id())
    }

    fn leave(mut self) -> Result<(), Stop> {
        rustix::io::write(&self.terminal, b"\x04")?;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the session ended with {status}").into()) }
    }
}

/// Whether keys are read one by one now: the editor has switched to pasted text being marked.
fn is_asking(seen: &[u8]) -> bool {
    let last = |mark: &[u8]| seen.windows(mark.len()).rposition(|window| window == mark);
    last(b"\x1b[?2004h") > last(b"\x1b[?2004l")
}
