//! The lock that is the truth about a gateway.
//!
//! Invariant: the file that is locked is the file that the name stands for; it is never removed.

use super::error::PresenceError;
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, statat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// The file's name.
pub(super) const NAME: &str = ".picoclaw.lock";

/// Whoever asks whether a gateway runs holds the lock for an instant; a start waits that long, and longer.
const PATIENCE: Duration = Duration::from_millis(400);

const PAUSE: Duration = Duration::from_millis(10);

/// An instance's directory, opened.
pub(super) fn home(path: &Path) -> Result<OwnedFd, PresenceError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map_err(PresenceError::of("open", path))
}

/// Takes the lock; `None` when somebody else holds it.
pub(super) fn take(dir: &OwnedFd, path: &Path) -> Result<Option<OwnedFd>, PresenceError> {
    let path = path.join(NAME);
    let began = Instant::now();
    loop {
        let how = OFlags::RDWR | OFlags::CREATE;
        let file = open(dir, how).map_err(PresenceError::of("open", &path))?;
        let stat = fstat(&file).map_err(PresenceError::of("look at", &path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(PresenceError::NotAFile(path));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let named = statat(dir, NAME, AtFlags::SYMLINK_NOFOLLOW);
                if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (stat.st_dev, stat.st_ino)) {
                    return Ok(Some(file));
                }
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(errno) => return Err(PresenceError::of("lock", &path)(errno)),
        }
        if began.elapsed() >= PATIENCE {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether somebody holds the lock; it is not made for the question.
pub(super) fn is_held(dir: &OwnedFd) -> bool {
    let Ok(file) = open(dir, OFlags::RDONLY) else { return false };
    matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(Errno::WOULDBLOCK))
}

fn open(dir: &OwnedFd, how: OFlags) -> Result<OwnedFd, Errno> {
    // NONBLOCK: a FIFO under this name must fail, not hang.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | how;
    openat(dir, NAME, flags, Mode::RUSR | Mode::WUSR)
}
