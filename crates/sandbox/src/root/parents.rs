//! Making the directories that are missing above a file, each through the handle on the one above it.
//!
//! New directories are 0755 less the umask, as the original makes them: the workspace itself decides who comes in.
//!
//! Invariant: a directory is entered only by its name in a held directory, never through a link.

use super::facts::Facts;
use super::walk::Spot;
use rustix::fs::{Mode, OFlags, fstat, fsync, mkdirat, openat};
use rustix::io::{Errno, Result};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Makes `missing` below the spot's directory, one inside the other, and moves the spot there.
pub(super) fn make(spot: &Spot, missing: &[OsString]) -> Result<Spot> {
    let mut dir = Arc::clone(&spot.dir);
    let mut dir_facts = spot.dir_facts;
    for name in missing {
        match mkdirat(&dir, name, Mode::from_raw_mode(0o755)) {
            // Somebody else may have been quicker.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let below = enter(&dir, name)?;
        sync(&dir)?;
        dir_facts = fstat(&below)?.into();
        dir = Arc::new(below);
    }
    Ok(Spot { dir, dir_facts, name: spot.name.clone() })
}

/// Opens a directory by its name, for reading when that may be had.
fn enter(dir: &OwnedFd, name: &OsString) -> Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(dir, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => openat(dir, name, flags | OFlags::PATH, Mode::empty()),
        settled => settled,
    }
}

/// Makes the names in a directory survive a power cut, as far as the file system offers that.
pub(super) fn sync(dir: &OwnedFd) -> Result<()> {
    let synced = match fsync(dir) {
        // An `O_PATH` handle cannot be synced; a readable one on the same directory can.
        Err(Errno::BADF) => match super::reopen::directory(rustix::fd::AsFd::as_fd(dir)) {
            Ok(readable) => fsync(&readable),
            // A directory that may be written but not read cannot be synced by anybody.
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        },
        settled => settled,
    };
    match synced {
        // Some file systems have no such thing as a directory's own sync.
        Err(Errno::INVAL | Errno::ROFS | Errno::OPNOTSUPP) => Ok(()),
        settled => settled,
    }
}

/// Whether a directory's facts say that new files take its group.
pub(super) fn gives_its_group(dir: &Facts) -> bool {
    dir.mode() & 0o2000 != 0
}
