//! Creates the missing directories above a file (`mkdir -p` by descriptor), with mode 0755 less the
//! umask.
//!
//! Invariant: a directory is opened only by its name in an open directory, never through a link.

use super::walk_resolver::DirEntryRef;
use crate::os_file::{AsFd, Errno, Mode, O_PATH, OFlags, OwnedFd, Result, fstat, fsync, mkdirat, openat};
use std::ffi::OsString;
use std::sync::Arc;

/// Creates `missing`, one inside the other, in the entry's directory, and moves the entry there.
pub(super) fn create_parents(entry: &DirEntryRef, missing: &[OsString]) -> Result<DirEntryRef> {
    let mut dir = Arc::clone(&entry.dir);
    let mut dir_meta = entry.dir_meta;
    for name in missing {
        match mkdirat(&dir, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let below = open_dir(&dir, name)?;
        sync_dir(&dir)?;
        dir_meta = fstat(&below)?.into();
        dir = Arc::new(below);
    }
    Ok(DirEntryRef { dir, dir_meta, name: entry.name.clone() })
}

/// Opens a directory by its name, for reading if possible.
fn open_dir(dir: &OwnedFd, name: &OsString) -> Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(dir, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => openat(dir, name, flags | O_PATH, Mode::empty()),
        done => done,
    }
}

/// Makes the entries of a directory durable, as far as the file system supports it.
pub(super) fn sync_dir(dir: &OwnedFd) -> Result<()> {
    let synced = match fsync(dir) {
        // An `O_PATH` descriptor cannot be synced; a readable one for the same directory can.
        Err(Errno::BADF) => match super::reopen::directory(dir.as_fd()) {
            Ok(readable) => fsync(&readable),
            // A directory that can be written but not read cannot be synced.
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        },
        done => done,
    };
    match synced {
        // Some file systems do not sync directories.
        Err(Errno::INVAL | Errno::ROFS | Errno::OPNOTSUPP) => Ok(()),
        done => done,
    }
}
