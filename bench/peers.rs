//! The peers: what a program without any of our promises does.
//!
//! Each is the shortest sequence of system calls that does the job, so that no figure looks good beside a slow peer.
//!
//! Invariant: a peer checks nothing but that the kernel said yes.

use super::Stop;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, fdatasync, fstat, fsync, openat, openat2, renameat, unlinkat,
};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// A handle on a directory.
pub(crate) fn directory(path: &Path) -> Result<OwnedFd, Stop> {
    Ok(openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A plain `open` for reading; dropping the handle closes it.
pub(crate) fn open(dir: impl AsFd, path: &Path) -> Result<OwnedFd, Stop> {
    Ok(openat(dir, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// What the kernel itself takes for an `open` that cannot leave `dir`, and for saying what was opened.
pub(crate) fn open_beneath(dir: impl AsFd, path: &Path) -> Result<OwnedFd, Stop> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = openat2(dir, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), resolve)?;
    std::hint::black_box(fstat(&file)?);
    Ok(file)
}

/// Opens, asks for the size, reads it all at once.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    let file = open(CWD, path)?;
    let size = usize::try_from(fstat(&file)?.st_size)?;
    let mut bytes = Vec::with_capacity(size + 1);
    rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes))?;
    Ok(bytes)
}

/// A file of any size as text, such as procfs has.
pub(crate) fn text(path: &Path) -> Result<String, Stop> {
    let file = open(CWD, path)?;
    let mut bytes = Vec::new();
    loop {
        bytes.reserve(4096);
        if rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes))? == 0 {
            return Ok(String::from_utf8(bytes)?);
        }
    }
}

/// Replaces `name` in `dir` atomically and durably: the sequence that every careful program needs.
pub(crate) fn replace(dir: &OwnedFd, name: &str, content: &[u8]) -> Result<(), Stop> {
    const TEMPORARY: &str = ".bench-tmp";
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(dir, TEMPORARY, flags, Mode::from_raw_mode(0o600))?;
    rustix::io::write(&file, content)?;
    fsync(&file)?;
    drop(file);
    renameat(dir, TEMPORARY, dir, name)?;
    Ok(fsync(dir)?)
}

/// Removes a file, or makes it where there is none.
pub(crate) fn come_or_go(path: &Path) -> Result<(), Stop> {
    match unlinkat(CWD, path, AtFlags::empty()) {
        Err(Errno::NOENT) => appended(path).map(drop),
        removed => Ok(removed?),
    }
}

/// A new file to append to.
pub(crate) fn appended(path: &Path) -> Result<OwnedFd, Stop> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::from_raw_mode(0o600))?)
}

/// One more line on the disk.
pub(crate) fn append_synced(file: &OwnedFd, line: &[u8]) -> Result<(), Stop> {
    rustix::io::write(file, line)?;
    Ok(fdatasync(file)?)
}
