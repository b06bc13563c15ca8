//! The pipes and pseudo-terminals of a child.

use crate::launch::error::LaunchError;
use crate::launch::linux::own_streams::{self, RelayedStreams};
use crate::launch::streams::{Output, Stdin, Streams, WindowSize};
use picoclaw_sys::linux::Step;
use picoclaw_sys::linux::landlock::{Ruleset, access};
use picoclaw_sys::linux::mount::DevIno;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{Winsize, tcsetwinsize, ttyname};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

/// This process's ends of the pipes, and the bytes to write to standard input.
#[derive(Debug, Default)]
pub(in crate::launch) struct ParentStreams {
    pub(in crate::launch) stdin: Option<OwnedFd>,
    pub(in crate::launch) stdout: Option<OwnedFd>,
    pub(in crate::launch) stderr: Option<OwnedFd>,
    pub(super) terminal: Option<OwnedFd>,
    pub(super) relayed: RelayedStreams,
    pub(super) input: Vec<u8>,
}

/// The child's ends, closed when this is dropped after its start.
#[derive(Debug)]
pub(super) struct ChildStreams {
    owned: Vec<OwnedFd>,
    /// The descriptors that become 0, 1 and 2.
    pub(super) numbers: [RawFd; 3],
    /// Devices that become 0, 1 and 2, with their access modes. The child opens them in its own
    /// file tree: through a descriptor of this process it could change the mode of the host's
    /// device.
    pub(super) devices: [Option<(&'static CStr, OFlags)>; 3],
    pub(super) terminal: Option<ChildTerminal>,
}

/// The pseudo-terminal that is the child's controlling terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChildTerminal {
    pub(super) fd: RawFd,
    /// The kernel stops the child when it reads from it or changes its settings.
    pub(super) starts_in_background: bool,
}

impl ChildStreams {
    /// What makes them 0, 1 and 2.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> {
        let ends = (0..).zip(self.numbers).zip(self.devices);
        ends.map(|((to, from), device)| match device {
            Some((path, mode)) => Step::OpenDevice(path.into(), mode, to),
            None => Step::DupFd(from, to),
        })
    }

    /// Allows the child to reopen inherited streams that are files (`/dev/stdin`, `/dev/stdout`)
    /// for the access that their descriptors have.
    fn allow_reopening(&self, rules: &Ruleset) {
        for (number, stream) in [(0, stdin()), (1, stdout()), (2, stderr())] {
            let is_inherited = self.numbers.get(number).is_some_and(|fd| usize::try_from(*fd) == Ok(number));
            let is_file = || fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
            if is_inherited && is_file() {
                // A file for which no rule can be made is in no file system and needs none.
                let _ = rules.allow(stream, fcntl_getfl(stream).map_or(0, reopening_rights));
            }
        }
        if let Some(terminal) = self.terminal_handle() {
            let _ = rules.allow(terminal, access::READ_FILE | access::WRITE_FILE);
        }
    }

    /// The path of its controlling terminal on the host, with device and inode.
    pub(super) fn terminal_path(&self) -> Option<(CString, DevIno)> {
        let terminal = self.terminal_handle()?;
        let path = ttyname(terminal, Vec::new()).ok()?;
        let stat = fstat(terminal).ok()?;
        Some((path, DevIno { device: stat.st_dev, inode: stat.st_ino }))
    }

    fn terminal_handle(&self) -> Option<&OwnedFd> {
        let number = self.terminal?.fd;
        self.owned.iter().find(|fd| fd.as_raw_fd() == number)
    }
}

fn reopening_rights(flags: OFlags) -> u64 {
    let write = access::WRITE_FILE | access::TRUNCATE;
    match flags & OFlags::ACCMODE {
        OFlags::RDONLY => access::READ_FILE,
        OFlags::WRONLY => write,
        _ => access::READ_FILE | write,
    }
}

/// Opens both ends of what `streams` describes.
pub(super) fn open(
    streams: Streams,
    ruleset: Option<&Ruleset>,
    read_only: &[PathBuf],
) -> Result<(ParentStreams, ChildStreams), LaunchError> {
    let failed = |errno| LaunchError::step("open its streams", errno);
    let mut child =
        ChildStreams { owned: Vec::new(), numbers: [0, 1, 2], devices: [None; 3], terminal: None };
    let mut parent = ParentStreams::default();
    match streams {
        Streams::Pty(size) => {
            let (master, slave) = open_pty(size, &mut child).map_err(failed)?;
            child.numbers = [slave; 3];
            child.terminal = Some(ChildTerminal { fd: slave, starts_in_background: false });
            parent.terminal = Some(master);
        }
        Streams::Own => parent.relayed = own_streams::open(&mut child, ruleset, read_only)?,
        Streams::Plain { stdin, output } => {
            open_stdin(stdin, &mut parent, &mut child).map_err(failed)?;
            open_output(output, &mut parent, &mut child).map_err(failed)?;
        }
    }
    if let Some(ruleset) = ruleset {
        child.allow_reopening(ruleset);
    }
    Ok((parent, child))
}

/// Opens a pseudo-terminal: its master side, non-blocking, and the number of its slave side.
pub(super) fn open_pty(size: WindowSize, child: &mut ChildStreams) -> rustix::io::Result<(OwnedFd, RawFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    set_size(&master, size)?;
    set_nonblocking(&master)?;
    let slave = child.own(ioctl_tiocgptpeer(&master, flags)?);
    Ok((master, slave))
}

pub(crate) fn set_size(terminal: impl AsFd, size: WindowSize) -> rustix::io::Result<()> {
    tcsetwinsize(terminal, Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })
}

fn open_stdin(stdin: Stdin, parent: &mut ParentStreams, child: &mut ChildStreams) -> rustix::io::Result<()> {
    match stdin {
        Stdin::Null => {
            child.devices[0] = Some((c"/dev/null", OFlags::RDONLY));
            return Ok(());
        }
        Stdin::Bytes(bytes) => parent.input = bytes,
        Stdin::Pipe => {}
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&write)?;
    child.numbers[0] = child.own(read);
    parent.stdin = Some(write);
    Ok(())
}

fn open_output(
    output: Output,
    parent: &mut ParentStreams,
    child: &mut ChildStreams,
) -> rustix::io::Result<()> {
    let (stdout, child_out) = output_pipe(child)?;
    parent.stdout = Some(stdout);
    child.numbers[1] = child_out;
    child.numbers[2] = child_out;
    if output == Output::Pipes {
        let (stderr, child_err) = output_pipe(child)?;
        parent.stderr = Some(stderr);
        child.numbers[2] = child_err;
    }
    Ok(())
}

fn output_pipe(child: &mut ChildStreams) -> rustix::io::Result<(OwnedFd, RawFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&read)?;
    Ok((read, child.own(write)))
}

/// Only our end: the flag belongs to the open file, and programs do not expect it on child.
pub(super) fn set_nonblocking(fd: impl AsFd) -> rustix::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)
}

impl ChildStreams {
    pub(super) fn own(&mut self, fd: OwnedFd) -> RawFd {
        let number = fd.as_raw_fd();
        self.owned.push(fd);
        number
    }
}
