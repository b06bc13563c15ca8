//! The one gateway of an instance: a lock, and a PID file for its clients.

use super::error::PresenceError;
use super::open_home;
use super::pid_file::{self, PidFile};
use super::processes::{ProcessRegistry, Registration, Role};
use crate::file_lock::FileLock;
use crate::os_file::{AtFlags, Errno, FileType, Mode, OFlags, OwnedFd, fill_random, fstat, openat, statat};
use data_encoding::HEXLOWER;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The file that a gateway locks. It is never removed.
const LOCK_FILE: &str = ".picoclaw.lock";

/// [`GatewayLock::is_running`] holds the lock for an instant; a starting gateway waits longer than
/// that.
const LOCK_TIMEOUT: Duration = Duration::from_millis(400);

/// The lock of a gateway. Dropping it removes the PID file and unlocks.
#[derive(Debug)]
#[must_use = "dropping it unlocks at once"]
pub struct GatewayLock {
    dir: OwnedFd,
    home: PathBuf,
    pid_file: Mutex<PidFile>,
    _registration: Registration,
    /// Unlocked after the PID file is removed.
    _lock: FileLock,
}

impl GatewayLock {
    /// Locks the instance at `home` for this gateway, and writes the PID file with a new token.
    pub fn acquire(home: &Path, version: &str, host: &str, port: u16) -> Result<Self, PresenceError> {
        let dir = open_home(home)?;
        let Some(lock) = lock(&dir, home)? else {
            return Err(PresenceError::AlreadyRunning(PidFile::read(&dir).map(Box::new)));
        };
        let path = home.join(pid_file::NAME);
        let fault = |verb| PresenceError::of(verb, &path);
        let registration =
            ProcessRegistry::open(home).and_then(|registry| registry.register(Role::Gateway))?;
        let pid_file = PidFile {
            pid: std::process::id(),
            token: random_token().map_err(PresenceError::of("make a token for", &path))?,
            version: version.to_owned(),
            port,
            host: host.to_owned(),
        };
        pid_file.write(&dir).map_err(fault("write"))?;
        let (home, pid_file) = (home.to_owned(), Mutex::new(pid_file));
        Ok(Self { dir, home, pid_file, _registration: registration, _lock: lock })
    }

    /// The PID file that was written.
    pub fn pid_file(&self) -> PidFile {
        self.pid_file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes another token into the PID file.
    pub fn set_token(&self, token: &str) -> Result<(), PresenceError> {
        let mut pid_file = self.pid_file.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = PidFile { token: token.to_owned(), ..pid_file.clone() };
        changed.write(&self.dir).map_err(PresenceError::of("write", &self.home.join(pid_file::NAME)))?;
        *pid_file = changed;
        Ok(())
    }

    /// The PID file of the instance at `home`, whether or not its gateway still runs.
    pub fn read_pid_file(home: &Path) -> Option<PidFile> {
        PidFile::read(&open_home(home).ok()?)
    }

    /// Whether a gateway holds the lock. The lock file is not created for the question.
    pub fn is_running(home: &Path) -> bool {
        let Ok(file) = open_home(home)
            .and_then(|dir| open_lock_file(&dir, OFlags::RDONLY).map_err(PresenceError::of("open", home)))
        else {
            return false;
        };
        matches!(FileLock::try_shared(file), Ok(None))
    }
}

impl Drop for GatewayLock {
    fn drop(&mut self) {
        self.pid_file().remove(&self.dir);
    }
}

/// Locks the lock file; `None` when another gateway holds it.
fn lock(dir: &OwnedFd, home: &Path) -> Result<Option<FileLock>, PresenceError> {
    let path = home.join(LOCK_FILE);
    let began = Instant::now();
    loop {
        let file = open_lock_file(dir, OFlags::RDWR | OFlags::CREATE);
        let file = file.map_err(PresenceError::of("open", &path))?;
        let stat = fstat(&file).map_err(PresenceError::of("look at", &path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(PresenceError::NotAFile(path));
        }
        let left = LOCK_TIMEOUT.saturating_sub(began.elapsed());
        let lock = FileLock::exclusive_within(file, left).map_err(PresenceError::of("lock", &path))?;
        let Some(lock) = lock else { return Ok(None) };
        let named = statat(dir, LOCK_FILE, AtFlags::SYMLINK_NOFOLLOW);
        if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (stat.st_dev, stat.st_ino)) {
            return Ok(Some(lock));
        }
        // The file was replaced in between: the lock is on one that has no name.
        if began.elapsed() >= LOCK_TIMEOUT {
            return Ok(None);
        }
    }
}

fn open_lock_file(dir: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    // NONBLOCK: a FIFO under this name must fail, not hang.
    let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    openat(dir, LOCK_FILE, safe | flags, Mode::RUSR | Mode::WUSR)
}

/// A random token of 128 bits, in hexadecimal digits.
pub fn random_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    Ok(HEXLOWER.encode(&bytes))
}
