//! Input and output of a child: both ends of every pipe.
//!
//! Invariant: the child's ends are closed in this process as soon as the child has started.

use picoclaw_sys::linux::landlock::{Ruleset, access};
use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, fstat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{
    OptionalActions, Winsize, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// How a child is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Streams {
    /// By plain descriptors.
    Plain {
        /// Where its input comes from.
        stdin: Stdin,
        /// Where its output goes.
        output: Output,
    },
    /// By a pseudo-terminal of its own, which is also its session's.
    Terminal(WindowSize),
    /// The same, to stand in for this process's own terminal: with its size and settings. A second output that is no
    /// terminal is passed on as it is.
    StandIn,
}

/// Where a child's input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Nowhere.
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// A pipe that the caller writes.
    Pipe,
    /// This process's own.
    Inherit,
}

/// Where a child's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A pipe each.
    Pipes,
    /// One pipe for both, so that their order is kept.
    Merged,
    /// This process's own.
    Inherit,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters a line.
    pub columns: u16,
}

impl Default for WindowSize {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// This process's ends.
#[derive(Debug, Default)]
pub(super) struct Ours {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) terminal: Option<OwnedFd>,
    pub(super) feed: Vec<u8>,
}

/// The child's ends: held until it has started.
#[derive(Debug)]
pub(super) struct Theirs {
    held: Vec<OwnedFd>,
    pub(super) numbers: [RawFd; 3],
    pub(super) terminal: Option<RawFd>,
}

impl Theirs {
    /// Lets the child open those of our own streams by name (`/dev/stdin`, `/dev/stdout`) that are files, for what it can do with them
    /// anyway: to read what is open for reading, to write what is open for writing. What is only to be added to stays closed: opened
    /// anew it could be overwritten.
    pub(super) fn open_by_name(&self, rules: &Ruleset) {
        for (number, stream) in [(0, stdin()), (1, stdout()), (2, stderr())] {
            let is_ours = self.numbers.get(number).is_some_and(|fd| usize::try_from(*fd) == Ok(number));
            let is_file = || fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
            if is_ours && is_file() {
                // What no rule can be made about is no part of a file system, and needs none.
                let _ = rules.allow(stream, fcntl_getfl(stream).map_or(0, rights));
            }
        }
    }
}

fn rights(flags: OFlags) -> u64 {
    let write = access::WRITE_FILE | access::TRUNCATE;
    match flags & OFlags::ACCMODE {
        _ if flags.contains(OFlags::PATH) => 0,
        OFlags::RDONLY => access::READ_FILE,
        OFlags::WRONLY if !flags.contains(OFlags::APPEND) => write,
        OFlags::RDWR if !flags.contains(OFlags::APPEND) => access::READ_FILE | write,
        _ => 0,
    }
}

/// Opens both ends of everything `streams` asks for.
pub(super) fn open(streams: Streams) -> rustix::io::Result<(Ours, Theirs)> {
    let mut theirs = Theirs { held: Vec::new(), numbers: [0, 1, 2], terminal: None };
    let mut ours = Ours::default();
    match streams {
        Streams::Terminal(size) => open_terminal(size, &mut ours, &mut theirs)?,
        Streams::StandIn => {
            let size = tcgetwinsize(stdout()).map_or_else(
                |_| WindowSize::default(),
                |size| WindowSize { rows: size.ws_row, columns: size.ws_col },
            );
            open_terminal(size, &mut ours, &mut theirs)?;
            if let (true, Ok(settings), Some(terminal)) = (is_in_front(), tcgetattr(stdin()), &ours.terminal)
            {
                tcsetattr(terminal, OptionalActions::Now, &settings)?;
            }
            if !isatty(stderr()) {
                theirs.numbers[2] = 2;
            }
        }
        Streams::Plain { stdin, output } => {
            open_stdin(stdin, &mut ours, &mut theirs)?;
            open_output(output, &mut ours, &mut theirs)?;
        }
    }
    Ok((ours, theirs))
}

fn open_terminal(size: WindowSize, ours: &mut Ours, theirs: &mut Theirs) -> rustix::io::Result<()> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    set_size(&controller, size)?;
    let terminal = theirs.hold(ioctl_tiocgptpeer(&controller, flags)?);
    theirs.numbers = [terminal; 3];
    theirs.terminal = Some(terminal);
    set_nonblocking(&controller)?;
    ours.terminal = Some(controller);
    Ok(())
}

/// Whether this process is in front of its terminal, or of one that knows no front: whoever is behind leaves keys and
/// settings alone.
pub(crate) fn is_in_front() -> bool {
    tcgetpgrp(stdin()).map_or(true, |front| front == rustix::process::getpgrp())
}

pub(super) fn set_size(terminal: impl AsFd, size: WindowSize) -> rustix::io::Result<()> {
    tcsetwinsize(terminal, Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })
}

fn open_stdin(stdin: Stdin, ours: &mut Ours, theirs: &mut Theirs) -> rustix::io::Result<()> {
    match stdin {
        Stdin::Inherit => return Ok(()),
        Stdin::Null => {
            let null = rustix::fs::openat(CWD, "/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            theirs.numbers[0] = theirs.hold(null);
            return Ok(());
        }
        Stdin::Bytes(bytes) => ours.feed = bytes,
        Stdin::Pipe => {}
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&write)?;
    theirs.numbers[0] = theirs.hold(read);
    ours.stdin = Some(write);
    Ok(())
}

fn open_output(output: Output, ours: &mut Ours, theirs: &mut Theirs) -> rustix::io::Result<()> {
    if output == Output::Inherit {
        return Ok(());
    }
    let (stdout, theirs_out) = output_pipe(theirs)?;
    ours.stdout = Some(stdout);
    theirs.numbers[1] = theirs_out;
    theirs.numbers[2] = theirs_out;
    if output == Output::Pipes {
        let (stderr, theirs_err) = output_pipe(theirs)?;
        ours.stderr = Some(stderr);
        theirs.numbers[2] = theirs_err;
    }
    Ok(())
}

fn output_pipe(theirs: &mut Theirs) -> rustix::io::Result<(OwnedFd, RawFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&read)?;
    Ok((read, theirs.hold(write)))
}

/// Only our end: the flag belongs to the open file, and programs do not expect it on theirs.
fn set_nonblocking(fd: impl AsFd) -> rustix::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)
}

impl Theirs {
    fn hold(&mut self, fd: OwnedFd) -> RawFd {
        let number = fd.as_raw_fd();
        self.held.push(fd);
        number
    }
}
