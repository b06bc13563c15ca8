//! The pipes of a child.

use crate::launch::error::LaunchError;
use crate::launch::streams::{Output, Stdin, Streams};
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};

/// This process's ends of the pipes, and the bytes to write to standard input.
#[derive(Debug, Default)]
pub(super) struct ParentStreams {
    pub(super) stdin: Option<OwnedHandle>,
    pub(super) stdout: Option<OwnedHandle>,
    pub(super) stderr: Option<OwnedHandle>,
    pub(super) input: Vec<u8>,
}

/// The child's ends, closed when this is dropped after its start.
#[derive(Debug)]
pub(super) struct ChildStreams {
    stdin: OwnedHandle,
    stdout: OwnedHandle,
    /// `None` where it is the same as standard output.
    stderr: Option<OwnedHandle>,
}

impl ChildStreams {
    pub(super) fn handles(&self) -> [BorrowedHandle<'_>; 3] {
        let stderr = self.stderr.as_ref().unwrap_or(&self.stdout);
        [self.stdin.as_handle(), self.stdout.as_handle(), stderr.as_handle()]
    }
}

/// Opens both ends of what `streams` describes. The streams of this process are relayed by pipes; see [`crate::terminal`].
pub(super) fn open(streams: Streams) -> Result<(ParentStreams, ChildStreams), LaunchError> {
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
        io::Result::Ok(OwnedHandle::from(read))
    };
    let (stdin, input) = match stdin {
        Stdin::Null => (File::open("NUL")?.into(), Vec::new()),
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
