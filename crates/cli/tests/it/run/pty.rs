//! A terminal with a person at it, as far as a program can tell.

use super::{Project, is_here};
use picoclaw_testing::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

pub(crate) struct Terminal {
    controller: OwnedFd,
    pub(crate) child: Child,
    seen: Vec<u8>,
    /// Everything that was shown, also what was waited for.
    all: Vec<u8>,
    /// Its settings before anybody could change them.
    pub(crate) first_settings: String,
}

/// Whether a terminal can be handed to a program here.
pub(crate) fn can_give_a_terminal() -> bool {
    is_here("setsid")
}

fn set_size(controller: &OwnedFd, rows: u16, columns: u16) {
    tcsetwinsize(controller, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

fn settings(controller: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(controller).unwrap())
}

impl Terminal {
    /// Starts `command` as the leader of a session on a new terminal.
    pub(crate) fn start(command: &Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let terminal = ioctl_tiocgptpeer(&controller, flags).unwrap();
        // Before anybody can ask for it.
        set_size(&controller, 33, 101);
        let end = || terminal.try_clone().unwrap();
        let mut leader = Command::new("setsid");
        leader.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        leader.env("TERM", "dumb").envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        leader.current_dir(command.get_current_dir().unwrap()).stdin(end()).stdout(end()).stderr(end());
        let first_settings = settings(&controller);
        let child = leader.spawn().unwrap();
        Self { controller, child, seen: Vec::new(), all: Vec::new(), first_settings }
    }

    /// An interactive shell on a new terminal, in the project, with job control.
    pub(super) fn shell(project: &Project) -> Self {
        let mut shell = Command::new("bash");
        let binary = project.command(&[]).get_program().to_owned();
        let like = project.command(&[]);
        shell.args(["--norc", "--noprofile", "-i"]).current_dir(project.dir());
        shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // One word for what is typed again and again; `$` keeps the prompt apart from its own definition.
        shell.env("PICO", binary).env("PS1", "outer\\$ ");
        let mut shell = Self::start(&shell);
        shell.prompt();
        shell
    }

    /// Waits for the shell to be ready.
    pub(crate) fn prompt(&mut self) {
        let root = rustix::process::geteuid().is_root();
        self.until(if root { "outer# " } else { "outer$ " });
    }

    /// Types.
    pub(crate) fn type_in(&mut self, text: &str) {
        let mut bytes = text.as_bytes();
        while !bytes.is_empty() {
            // Four kilobytes are what a terminal takes at once; what comes back is read meanwhile.
            let count = rustix::io::write(&self.controller, &bytes[..bytes.len().min(1024)]).unwrap();
            bytes = &bytes[count..];
            while self.hear(Duration::ZERO) {}
        }
    }

    /// Waits for `text` to be shown; what came before it is forgotten.
    pub(crate) fn until(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.seen.drain(..at + text.len());
                return;
            }
            let heard = self.hear(end.saturating_duration_since(Instant::now()));
            assert!(heard, "no `{text}` in `{}`", String::from_utf8_lossy(&self.seen));
        }
    }

    /// Everything that is shown until the last writer has closed.
    pub(crate) fn rest(&mut self) -> String {
        while self.hear(PATIENCE) {}
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Everything that is shown, and how the program ended.
    pub(crate) fn end(mut self) -> (i32, String) {
        let rest = self.rest();
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code().unwrap_or(-1), rest);
            }
            assert!(Instant::now() < until, "it does not end: `{rest}`");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Everything that was shown from the beginning, and how the program ended.
    pub(crate) fn end_with_all(mut self) -> (i32, String) {
        self.rest();
        let all = String::from_utf8_lossy(&self.all).into_owned();
        (self.end().0, all)
    }

    /// Everything that was shown so far.
    pub(crate) fn all(&self) -> String {
        String::from_utf8_lossy(&self.all).into_owned()
    }

    /// The person closes the window.
    pub(crate) fn close(self) -> Child {
        self.child
    }

    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        set_size(&self.controller, rows, columns);
    }

    /// Its settings, all of them.
    pub(crate) fn settings(&self) -> String {
        settings(&self.controller)
    }

    /// Whether keys are passed on one by one.
    pub(crate) fn is_raw(&self) -> bool {
        !tcgetattr(&self.controller)
            .unwrap()
            .local_modes
            .intersects(LocalModes::ICANON | LocalModes::ISIG | LocalModes::ECHO)
    }

    /// Reads a piece; false when there was none in time, or never will be.
    fn hear(&mut self, time: Duration) -> bool {
        let time = Timespec::try_from(time).unwrap();
        let mut ready = [PollFd::from_borrowed_fd(self.controller.as_fd(), PollFlags::IN)];
        if poll(&mut ready, Some(&time)).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 64 << 10];
        let count = rustix::io::read(&self.controller, &mut buffer).unwrap_or(0);
        self.seen.extend_from_slice(&buffer[..count]);
        self.all.extend_from_slice(&buffer[..count]);
        count > 0
    }
}
