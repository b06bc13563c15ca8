//! The pipes of helper programs, for tasks.

use std::io;

/// The pipe to a program's standard input.
#[cfg(unix)]
pub(crate) type PipeWriter = tokio::net::unix::pipe::Sender;
/// The pipe from its standard output or error.
#[cfg(unix)]
pub(crate) type PipeReader = tokio::net::unix::pipe::Receiver;

/// Takes over a pipe to write to.
#[cfg(unix)]
pub(crate) fn writer(pipe: std::os::fd::OwnedFd) -> io::Result<PipeWriter> {
    PipeWriter::from_owned_fd(pipe)
}

/// Takes over a pipe to read from.
#[cfg(unix)]
pub(crate) fn reader(pipe: std::os::fd::OwnedFd) -> io::Result<PipeReader> {
    PipeReader::from_owned_fd(pipe)
}

/// The pipe to a program's standard input. A thread of the runtime writes to it.
#[cfg(windows)]
pub(crate) type PipeWriter = tokio::fs::File;
/// The pipe from its standard output or error. A thread of the runtime reads from it.
#[cfg(windows)]
pub(crate) type PipeReader = tokio::fs::File;

/// Takes over a pipe to write to.
#[cfg(windows)]
pub(crate) fn writer(pipe: std::os::windows::io::OwnedHandle) -> io::Result<PipeWriter> {
    Ok(tokio::fs::File::from_std(pipe.into()))
}

/// Takes over a pipe to read from.
#[cfg(windows)]
pub(crate) fn reader(pipe: std::os::windows::io::OwnedHandle) -> io::Result<PipeReader> {
    Ok(tokio::fs::File::from_std(pipe.into()))
}
