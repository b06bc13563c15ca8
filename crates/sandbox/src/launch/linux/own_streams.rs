//! Connects a child with the standard streams of this process.
//!
//! Files are inherited, and devices that every cage has are opened there. A terminal is relayed by
//! a pseudo-terminal. A pipe and a socket are relayed by a pipe, and so is a file that the child
//! could change in ways for which it was not opened. Everything else is refused.
//!
//! Invariant: a child holds no terminal, pipe, socket, directory or device of this process.

use crate::launch::error::LaunchError;
use crate::launch::linux::child_streams::{ChildStreams, ChildTerminal, open_pty, set_nonblocking};
use crate::launch::linux::user_terminal::{TerminalOwner, UserTerminal, stream};
use picoclaw_sys::linux::landlock::Ruleset;
use rustix::fs::{CWD, Dev, FileType, OFlags, fcntl_getfl, fstat, fstatfs, major, minor, readlinkat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::ffi::{CStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// What stands in for streams of this process. [`crate::terminal::relay`] serves it.
#[derive(Debug, Default)]
pub struct RelayedStreams {
    pub(crate) terminals: Vec<RelayedTerminal>,
    pub(crate) pipes: Vec<RelayedPipe>,
}

/// A terminal of the user and the pseudo-terminal that stands in for it.
#[derive(Debug)]
pub(crate) struct RelayedTerminal {
    pub(crate) user: UserTerminal,
    /// The master side, non-blocking.
    pub(crate) master: OwnedFd,
    /// The child starts in the background of it, as far as its own session goes.
    pub(crate) starts_in_background: bool,
}

/// A stream of this process and the pipe that stands in for it.
#[derive(Debug)]
pub(crate) struct RelayedPipe {
    /// The stream's number: 0 is read, the others are written.
    pub(crate) stream: usize,
    /// The stream is read from a pipe. What the child does not read stays there, for the next
    /// command of a script.
    pub(crate) keeps_unread: bool,
    /// This process's end, non-blocking.
    pub(crate) pipe: OwnedFd,
    /// The terminal behind the stream, where no pseudo-terminal could be made.
    pub(crate) terminal: Option<UserTerminal>,
}

/// How a stream is connected.
enum Connection {
    Inherited,
    /// This device of the cage, with this access mode.
    Device(&'static CStr, OFlags),
    /// Relayed by a pseudo-terminal; the terminal has this device number.
    Pty(Dev),
    Pipe,
    /// Not at all: what it is.
    Refused(&'static str),
}

/// Connects the streams 0, 1 and 2.
pub(super) fn open(
    child: &mut ChildStreams,
    ruleset: Option<&Ruleset>,
    read_only: &[PathBuf],
) -> Result<RelayedStreams, LaunchError> {
    let mut relayed = RelayedStreams::default();
    let mut terminals: Vec<UserTerminal> = Vec::new();
    for number in 0..3 {
        match connection(number, ruleset, read_only) {
            Connection::Inherited => {}
            Connection::Device(path, mode) => child.devices[number] = Some((path, mode)),
            Connection::Refused(what) => return Err(LaunchError::Stream { number, what }),
            Connection::Pipe => open_pipe(number, None, child, &mut relayed)?,
            Connection::Pty(device) => {
                match terminals.iter_mut().find(|known| known.is_behind(number, device)) {
                    Some(known) => known.add(number),
                    None => terminals.push(UserTerminal::new(number, device)),
                }
            }
        }
    }
    // The first becomes the controlling terminal of the child.
    terminals.sort_by_key(UserTerminal::owner);
    for terminal in terminals {
        relay_terminal(terminal, child, &mut relayed)?;
    }
    Ok(relayed)
}

fn connection(number: usize, ruleset: Option<&Ruleset>, read_only: &[PathBuf]) -> Connection {
    let (Ok(flags), Ok(stat)) = (fcntl_getfl(stream(number)), fstat(stream(number))) else {
        return Connection::Refused("closed");
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Connection::Refused("a directory"),
        _ if flags.contains(OFlags::PATH) => Connection::Refused("a descriptor with `O_PATH`"),
        FileType::RegularFile if is_kernel_object(number) => {
            Connection::Refused("a handle of a process or namespace")
        }
        // A writer can clear `O_APPEND`, and cut the file short.
        FileType::RegularFile if number != 0 && flags.contains(OFlags::APPEND) => Connection::Pipe,
        // Without Landlock a file can be opened again for writing, by `/proc/self/fd`.
        FileType::RegularFile if ruleset.is_none() && flags & OFlags::ACCMODE != OFlags::RDWR => {
            Connection::Pipe
        }
        // Landlock allows writing to it, as to all in the writable tree around it.
        FileType::RegularFile if flags & OFlags::ACCMODE == OFlags::RDONLY && lies_in(number, read_only) => {
            Connection::Pipe
        }
        FileType::RegularFile => Connection::Inherited,
        // A pipe can be opened again for its other direction.
        FileType::Fifo | FileType::Socket => Connection::Pipe,
        FileType::BlockDevice => Connection::Refused("a block device"),
        FileType::CharacterDevice => device_connection(number, stat.st_rdev, flags & OFlags::ACCMODE),
        _ => Connection::Refused("neither a file, a pipe, a socket nor a terminal"),
    }
}

/// `/dev/null`, `zero`, `full`, `random` and `urandom` are in every cage.
fn device_connection(number: usize, device: Dev, mode: OFlags) -> Connection {
    match (major(device), minor(device)) {
        (1, 3) => Connection::Device(c"/dev/null", mode),
        (1, 5) => Connection::Device(c"/dev/zero", mode),
        (1, 7) => Connection::Device(c"/dev/full", mode),
        (1, 8) => Connection::Device(c"/dev/random", mode),
        (1, 9) => Connection::Device(c"/dev/urandom", mode),
        (5, 2) => Connection::Refused("the master side of a pseudo-terminal"),
        // EIO: its other side is gone.
        _ if matches!(tcgetattr(stream(number)), Ok(_) | Err(Errno::IO)) => Connection::Pty(device),
        _ => Connection::Refused("a device"),
    }
}

/// Whether a stream is a file in one of these trees.
fn lies_in(number: usize, trees: &[PathBuf]) -> bool {
    let path = readlinkat(CWD, format!("/proc/self/fd/{number}"), Vec::new());
    let path = path.map(|path| PathBuf::from(OsString::from_vec(path.into_bytes())));
    path.is_ok_and(|path| trees.iter().any(|tree| path.starts_with(tree)))
}

/// Whether a descriptor is a namespace or a pidfd, which look like files.
fn is_kernel_object(number: usize) -> bool {
    const NSFS: i64 = 0x6e73_6673;
    const PIDFS: i64 = 0x5049_4446;
    fstatfs(stream(number)).is_ok_and(|fs| [NSFS, PIDFS].contains(&fs.f_type))
}

/// Relays a terminal by a pseudo-terminal, or by pipes where none can be made.
fn relay_terminal(
    user: UserTerminal,
    child: &mut ChildStreams,
    relayed: &mut RelayedStreams,
) -> Result<(), LaunchError> {
    let Ok((master, slave)) = open_pty(user.size(), child) else {
        let device_of = |number: usize| fstat(stream(number)).map_or(0, |stat| stat.st_rdev);
        return user.streams().iter().try_for_each(|number| {
            let terminal = UserTerminal::new(*number, device_of(*number));
            open_pipe(*number, Some(terminal), child, relayed)
        });
    };
    copy_settings(&user, &master).map_err(|errno| LaunchError::step("open its streams", errno))?;
    for number in user.streams() {
        if let Some(place) = child.numbers.get_mut(*number) {
            *place = slave;
        }
    }
    // Only one that reads and writes the terminal surely is for the person at it. Other commands of
    // a pipeline may read the same keys, so this one waits for the kernel to stop it: it then wants
    // them.
    let starts_in_background = user.owner() == TerminalOwner::ThisSession && !(user.has(0) && user.has(1));
    if child.terminal.is_none() {
        child.terminal = Some(ChildTerminal { fd: slave, starts_in_background });
    }
    relayed.terminals.push(RelayedTerminal { user, master, starts_in_background });
    Ok(())
}

/// Gives a pseudo-terminal the settings of the user's terminal, unless those are of another job at
/// its prompt. Output from the background is allowed: this process writes it.
fn copy_settings(user: &UserTerminal, master: &OwnedFd) -> rustix::io::Result<()> {
    let mut settings = match tcgetattr(stream(user.first())) {
        Ok(settings) if user.is_available() => settings,
        _ => tcgetattr(master)?,
    };
    settings.local_modes.remove(LocalModes::TOSTOP);
    tcsetattr(master, OptionalActions::Now, &settings)
}

/// Relays a stream by a pipe. Output and errors to the same pipe or socket share one, which keeps
/// their order.
fn open_pipe(
    number: usize,
    terminal: Option<UserTerminal>,
    child: &mut ChildStreams,
    relayed: &mut RelayedStreams,
) -> Result<(), LaunchError> {
    let failed = |errno| LaunchError::step("open its streams", errno);
    if number == 2 && relayed.pipes.iter().any(|pipe| pipe.stream == 1) && is_same_file(1, 2) {
        child.numbers[2] = child.numbers[1];
        return Ok(());
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    let is_pipe = fstat(stream(number)).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_fifo());
    let keeps_unread = number == 0 && is_pipe;
    if keeps_unread {
        // Room for one buffer: it can be written again once the child has read all of it.
        fcntl_setpipe_size(&write, 1).map_err(failed)?;
    }
    let (pipe, theirs) = if number == 0 { (write, read) } else { (read, write) };
    set_nonblocking(&pipe).map_err(failed)?;
    let theirs = child.own(theirs);
    if let Some(place) = child.numbers.get_mut(number) {
        *place = theirs;
    }
    relayed.pipes.push(RelayedPipe { stream: number, keeps_unread, pipe, terminal });
    Ok(())
}

fn is_same_file(one: usize, other: usize) -> bool {
    match (fstat(stream(one)), fstat(stream(other))) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}
