//! The one gateway of an instance: a lock, and a PID file for its clients.

use super::error::PresenceError;
use super::pid_file::{self, PidFile};
use super::processes::{ProcessRegistry, Registration, Role};
use crate::file_lock::FileLock;
use crate::os_file::{OFlags, fill_random};
use crate::state_dir::{StateDir, StateError};
use data_encoding::HEXLOWER;
use std::io;
use std::path::Path;
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
    dir: StateDir,
    pid_file: Mutex<PidFile>,
    _registration: Registration,
    /// Unlocked after the PID file is removed.
    _lock: FileLock,
}

impl GatewayLock {
    /// Locks the instance at `home` for this gateway, and writes the PID file with a new token.
    pub fn acquire(home: &Path, version: &str, host: &str, port: u16) -> Result<Self, PresenceError> {
        let dir = StateDir::of_home(home)?;
        let Some(lock) = lock(&dir)? else {
            return Err(PresenceError::AlreadyRunning(PidFile::read(&dir).map(Box::new)));
        };
        let path = home.join(pid_file::NAME);
        let registration =
            ProcessRegistry::open(home).and_then(|registry| registry.register(Role::Gateway))?;
        let pid_file = PidFile {
            pid: std::process::id(),
            token: random_token().map_err(StateError::of("make a token for", &path))?,
            version: version.to_owned(),
            port,
            host: host.to_owned(),
        };
        pid_file.write(&dir)?;
        Ok(Self { dir, pid_file: Mutex::new(pid_file), _registration: registration, _lock: lock })
    }

    /// The PID file that was written.
    pub fn pid_file(&self) -> PidFile {
        self.pid_file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes another token into the PID file.
    pub fn set_token(&self, token: &str) -> Result<(), PresenceError> {
        let mut pid_file = self.pid_file.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = PidFile { token: token.to_owned(), ..pid_file.clone() };
        changed.write(&self.dir)?;
        *pid_file = changed;
        Ok(())
    }

    /// The PID file of the instance at `home`, whether or not its gateway still runs.
    pub fn read_pid_file(home: &Path) -> Option<PidFile> {
        PidFile::read(&StateDir::of_home(home).ok()?)
    }

    /// Whether a gateway holds the lock. The lock file is not created for the question.
    pub fn is_running(home: &Path) -> bool {
        let file = StateDir::of_home(home).and_then(|dir| dir.file(LOCK_FILE, OFlags::RDONLY));
        file.is_ok_and(|file| file.is_some_and(|file| matches!(FileLock::try_shared(file), Ok(None))))
    }
}

impl Drop for GatewayLock {
    fn drop(&mut self) {
        self.pid_file().remove(&self.dir);
    }
}

/// Locks the lock file; `None` when another gateway holds it.
fn lock(dir: &StateDir) -> Result<Option<FileLock>, StateError> {
    let began = Instant::now();
    let open = || dir.created(LOCK_FILE, OFlags::RDWR);
    dir.lock_named(LOCK_FILE, open, |file| {
        FileLock::exclusive_within(file, LOCK_TIMEOUT.saturating_sub(began.elapsed()))
    })
}

/// A random token of 128 bits, in hexadecimal digits.
pub fn random_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    Ok(HEXLOWER.encode(&bytes))
}
