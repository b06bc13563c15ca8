//! The pipes of a child.

use crate::launch::error::LaunchError;
use crate::launch::platform::NULL_DEVICE;
use crate::launch::streams::{Output, Stdin, Streams};
use crate::os_file::{AsFd, BorrowedFd, OwnedFd};
use std::fs::File;
use std::io;

/// This process's ends of the pipes, and the bytes to write to standard input.
#[derive(Debug, Default)]
pub(in crate::launch) struct ParentStreams {
    pub(in crate::launch) stdin: Option<OwnedFd>,
    pub(in crate::launch) stdout: Option<OwnedFd>,
    pub(in crate::launch) stderr: Option<OwnedFd>,
    pub(super) input: Vec<u8>,
}

/// The child's ends, closed when this is dropped after its start.
#[derive(Debug)]
pub(in crate::launch) struct ChildStreams {
    stdin: OwnedFd,
    stdout: OwnedFd,
    /// `None` where it is the same as standard output.
    stderr: Option<OwnedFd>,
}

impl ChildStreams {
    pub(in crate::launch) fn handles(&self) -> [BorrowedFd<'_>; 3] {
        let stderr = self.stderr.as_ref().unwrap_or(&self.stdout);
        [self.stdin.as_fd(), self.stdout.as_fd(), stderr.as_fd()]
    }
}

/// Opens both ends of what `streams` describes. The streams of this process are relayed by pipes;
/// see [`crate::terminal`].
pub(in crate::launch) fn open(streams: Streams) -> Result<(ParentStreams, ChildStreams), LaunchError> {
    let (stdin, output) = match streams {
        Streams::Plain { stdin, output } => (stdin, output),
        Streams::Own => (Stdin::Pipe, Output::Pipes),
        Streams::Pty(_) => return Err(LaunchError::NoPty),
    };
    open_pipes(stdin, output).map_err(|error| LaunchError::step("open its streams", error))
}

fn open_pipes(stdin: Stdin, output: Output) -> io::Result<(ParentStreams, ChildStreams)> {
    let mut parent = ParentStreams::default();
    let mut input = || {
        let (read, write) = io::pipe()?;
        parent.stdin = Some(write.into());
        io::Result::Ok(OwnedFd::from(read))
    };
    let (stdin, input) = match stdin {
        Stdin::Null => (File::open(NULL_DEVICE)?.into(), Vec::new()),
        Stdin::Pipe => (input()?, Vec::new()),
        Stdin::Bytes(bytes) => (input()?, bytes),
    };
    let (read, write) = io::pipe()?;
    let mut child = ChildStreams { stdin, stdout: write.into(), stderr: None };
    (parent.input, parent.stdout) = (input, Some(read.into()));
    if output == Output::Pipes {
        let (read, write) = io::pipe()?;
        (parent.stderr, child.stderr) = (Some(read.into()), Some(write.into()));
    }
    Ok((parent, child))
}
