//! The one gateway of an instance.
//!
//! Invariant: whoever has a [`Presence`] holds the lock, and the PID file is its own.

use super::error::PresenceError;
use super::lock;
use super::record::{self, Recorded};
use super::roll::{Role, Roll, Signed};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A gateway's place in its instance; dropped, the place is free and the PID file gone.
#[derive(Debug)]
#[must_use = "the place is given up at once"]
pub struct Presence {
    dir: OwnedFd,
    recorded: Recorded,
    _signed: Signed,
    /// Closing it lets go of the lock, after the file is removed.
    _lock: OwnedFd,
}

impl Presence {
    /// Takes the place of the gateway in the instance at `home`, and writes the PID file with a new token.
    pub fn claim(home: &Path, version: &str, host: &str, port: u16) -> Result<Self, PresenceError> {
        let dir = lock::home(home)?;
        let Some(lock) = lock::take(&dir, home)? else {
            return Err(PresenceError::AlreadyRunning(Recorded::read(&dir).map(Box::new)));
        };
        let path = home.join(record::NAME);
        let fault = |verb| PresenceError::of(verb, &path);
        let signed = Roll::open(home).and_then(|roll| roll.sign(Role::Gateway))?;
        let recorded = Recorded {
            pid: std::process::id(),
            token: token().map_err(fault("make a token for"))?,
            version: version.to_owned(),
            port,
            host: host.to_owned(),
        };
        recorded.write(&dir).map_err(fault("write"))?;
        Ok(Self { dir, recorded, _signed: signed, _lock: lock })
    }

    /// What is written about it.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// What a gateway wrote about itself, whether or not it still runs.
    pub fn read(home: &Path) -> Option<Recorded> {
        Recorded::read(&lock::home(home).ok()?)
    }

    /// Whether a gateway runs, as the lock has it.
    pub fn is_running(home: &Path) -> bool {
        lock::home(home).is_ok_and(|dir| lock::is_held(&dir))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.recorded.remove(&self.dir);
    }
}

/// 32 hexadecimal digits that nobody can guess.
fn token() -> Result<String, Errno> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
