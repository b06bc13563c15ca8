//! The PID file of a gateway: where it listens, and the token it takes.
//!
//! Its contents are bounded and checked before they are used; reading changes nothing on the disk.

use crate::printable;
use crate::state_dir::{StateDir, StateError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{fmt, io};

/// The file's name.
pub(super) const NAME: &str = ".picoclaw.pid";

/// The largest file that is read.
const MAX_SIZE: u64 = 16 << 10;

/// The most characters of a version that are shown.
const MAX_VERSION: usize = 64;

/// What a gateway writes about itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidFile {
    /// Its process id, in its own pid namespace.
    pub pid: u32,
    /// The token that clients must send.
    #[serde(default)]
    pub token: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// The port it listens on.
    #[serde(default)]
    pub port: u16,
    /// The host it listens on.
    #[serde(default)]
    pub host: String,
}

impl PidFile {
    /// The version, safe to print.
    pub fn printable_version(&self) -> String {
        let version: String = self.version.chars().take(MAX_VERSION).collect();
        printable(&version).into_owned()
    }

    pub(super) fn read(dir: &StateDir) -> Option<Self> {
        let bytes = dir.read(NAME, MAX_SIZE).ok()??;
        // An object: serde would take a list of five values as well.
        let fields: Map<String, Value> = serde_json::from_slice(&bytes).ok()?;
        let pid_file: Self = serde_json::from_value(Value::Object(fields)).ok()?;
        (pid_file.pid > 0 && i32::try_from(pid_file.pid).is_ok()).then_some(pid_file)
    }

    pub(super) fn write(&self, dir: &StateDir) -> Result<(), StateError> {
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        dir.replace(NAME, &text.map_err(StateError::of("write", &dir.path().join(NAME)))?)
    }

    /// Removes the file if it is this one.
    pub(super) fn remove(&self, dir: &StateDir) {
        if Self::read(dir).as_ref() == Some(self) {
            // A file that cannot be removed is stale, which every reader finds out by the lock.
            let _ = dir.unlink(NAME);
        }
    }
}

/// Without the token.
impl fmt::Debug for PidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PidFile")
            .field("pid", &self.pid)
            .field("version", &self.version)
            .field("port", &self.port)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}
