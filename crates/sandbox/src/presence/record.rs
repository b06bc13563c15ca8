//! What a gateway wrote about itself: where it is, and the token it takes.
//!
//! Invariant: reading changes nothing on the disk; whatever lies there is bounded and checked before it is believed.

use crate::printable;
use crate::root::{RenameMode, TempFile};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, fsync, openat, unlinkat};
use rustix::io::{Errno, read};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::fmt;
use std::os::fd::OwnedFd;

/// The file's name.
pub(super) const NAME: &str = ".picoclaw.pid";

/// The most of it that is read.
const MOST: usize = 16 << 10;

/// The most of a version that is told.
const TOLD: usize = 64;

/// What a gateway wrote about itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its process number, in its own pid namespace.
    pub pid: u32,
    /// What its clients must show.
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

impl Recorded {
    /// The version as it may be shown.
    pub fn version_told(&self) -> String {
        let cut: String = self.version.chars().take(TOLD).collect();
        printable(&cut).into_owned()
    }

    pub(super) fn read(dir: &OwnedFd) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = openat(dir, NAME, flags, Mode::empty()).ok()?;
        let stat = fstat(&file).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = vec![0; MOST + 1];
        let mut length = 0;
        while length < bytes.len() {
            match read(&file, &mut bytes[length..]) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        // An object: a list of five things would do as well otherwise.
        let fields: Map<String, Value> =
            serde_json::from_slice(bytes.get(..length).filter(|_| length <= MOST)?).ok()?;
        let recorded: Self = serde_json::from_value(Value::Object(fields)).ok()?;
        // No process has the number zero, and none a negative one as others count.
        (recorded.pid > 0 && i32::try_from(recorded.pid).is_ok()).then_some(recorded)
    }

    pub(super) fn write(&self, dir: &OwnedFd) -> Result<(), Errno> {
        let text = serde_json::to_vec(self).map_err(|_| Errno::INVAL)?;
        let temp = TempFile::new_in(dir, self.pid)?;
        temp.add(&text)?;
        fsync(temp.file())?;
        temp.rename_to(OsStr::new(NAME), RenameMode::Replace)?;
        fsync(dir)
    }

    /// Removes the file if it is this one.
    pub(super) fn remove(&self, dir: &OwnedFd) {
        if Self::read(dir).as_ref() == Some(self) {
            // A file that cannot be removed is stale from now on, which every reader can tell.
            let _ = unlinkat(dir, NAME, AtFlags::empty());
        }
    }
}

/// Without the token.
impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded")
            .field("pid", &self.pid)
            .field("version", &self.version)
            .field("port", &self.port)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}
