//! A terminal of the user, behind standard streams of this process.

use crate::launch::streams::WindowSize;
use picoclaw_sys::linux::{ProcStat, is_foreground};
use rustix::fs::{CWD, Dev, Mode, OFlags, fcntl_getfl, major, minor, openat};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::tcgetwinsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A standard stream of this process by its number.
pub(crate) fn stream(number: usize) -> BorrowedFd<'static> {
    match number {
        0 => stdin(),
        1 => stdout(),
        _ => stderr(),
    }
}

/// The session whose controlling terminal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TerminalOwner {
    ThisSession,
    None,
    OtherSession,
}

/// A terminal, and the streams that lead to it.
#[derive(Debug)]
pub(crate) struct UserTerminal {
    owner: TerminalOwner,
    device: Dev,
    streams: Vec<usize>,
    /// The same terminal in non-blocking mode, which set on a stream would concern every process
    /// that shares it. `None` where it cannot be opened again.
    reopened: Option<OwnedFd>,
}

impl UserTerminal {
    /// The terminal behind a stream with this device number.
    pub(super) fn new(number: usize, device: Dev) -> Self {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let reopened = openat(CWD, format!("/proc/self/fd/{number}"), flags, Mode::empty()).ok();
        Self { owner: owner(number, device), device, streams: vec![number], reopened }
    }

    /// Whether a stream with this device number leads to it as well. A session has one terminal, by
    /// whatever name.
    pub(super) fn is_behind(&self, number: usize, device: Dev) -> bool {
        match self.owner {
            TerminalOwner::ThisSession => is_foreground(stream(number)).is_some(),
            _ => self.device == device && is_foreground(stream(number)).is_none(),
        }
    }

    pub(super) fn add(&mut self, number: usize) {
        self.streams.push(number);
    }

    pub(super) fn owner(&self) -> TerminalOwner {
        self.owner
    }

    pub(super) fn streams(&self) -> &[usize] {
        &self.streams
    }

    /// Whether this standard stream leads to it.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.streams.contains(&number)
    }

    /// The number of the stream through which its settings are read and changed.
    pub(crate) fn first(&self) -> usize {
        self.streams.first().copied().unwrap_or(0)
    }

    /// Whether keys may be read and settings changed: this process is in the foreground of it, or
    /// no session has it. What is typed at the prompt of another job or session is not for the
    /// child.
    pub(crate) fn is_available(&self) -> bool {
        match self.owner {
            TerminalOwner::ThisSession => is_foreground(stream(self.first())) == Some(true),
            TerminalOwner::None => true,
            TerminalOwner::OtherSession => false,
        }
    }

    /// Whether it is the controlling terminal of this process.
    pub(crate) fn is_controlling(&self) -> bool {
        self.owner == TerminalOwner::ThisSession
    }

    /// Where keys are read, if a stream was opened for reading.
    pub(crate) fn input(&self) -> Option<BorrowedFd<'_>> {
        self.opened_for(OFlags::WRONLY, &[0, 1, 2])
    }

    /// Where output is written, if a stream was opened for writing.
    pub(crate) fn output(&self) -> Option<BorrowedFd<'_>> {
        self.opened_for(OFlags::RDONLY, &[1, 2, 0])
    }

    fn opened_for(&self, unfit: OFlags, order: &[usize]) -> Option<BorrowedFd<'_>> {
        let mut candidates = order.iter().filter(|number| self.has(**number)).map(|number| stream(*number));
        let fit = candidates
            .find(|stream| fcntl_getfl(stream).is_ok_and(|flags| flags & OFlags::ACCMODE != unfit))?;
        Some(self.reopened.as_ref().map_or(fit, AsFd::as_fd))
    }

    pub(crate) fn size(&self) -> WindowSize {
        tcgetwinsize(stream(self.first())).map_or_else(
            |_| WindowSize::default(),
            |size| WindowSize { rows: size.ws_row, columns: size.ws_col },
        )
    }
}

fn owner(number: usize, device: Dev) -> TerminalOwner {
    if is_foreground(stream(number)).is_some() {
        TerminalOwner::ThisSession
    } else if has_session(device) {
        TerminalOwner::OtherSession
    } else {
        TerminalOwner::None
    }
}

/// Whether a terminal is the controlling terminal of a process, as far as this process can see.
/// `/dev/tty` and `/dev/console` do not tell which terminal they are.
fn has_session(device: Dev) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let number = device_number(device);
    let of_process =
        |name: std::ffi::OsString| ProcStat::read(name.to_str()?.parse().ok()?)?.number::<i64>(7);
    major(device) == 5 || processes.flatten().any(|process| of_process(process.file_name()) == Some(number))
}

/// A device number as `/proc/PID/stat` writes it.
fn device_number(device: Dev) -> i64 {
    let (major, minor) = (i64::from(major(device)), i64::from(minor(device)));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}
