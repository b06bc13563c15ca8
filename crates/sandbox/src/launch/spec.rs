//! The description of a child.

use crate::launch::output_limit::OutputLimit;
use crate::launch::platform::ChildSetup;
use crate::launch::principal::Principal;
use crate::launch::streams::Streams;
use crate::os_file::{CWD, Errno, Mode, O_PATH, OFlags, OwnedFd, openat};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Everything about one child. Starting it looks up no name but the program's absolute path.
#[derive(Debug)]
pub struct LaunchSpec {
    /// The program's absolute path; see [`crate::launch::find_program`].
    pub program: PathBuf,
    /// The arguments, beginning with the program's name.
    pub argv: Vec<OsString>,
    /// The whole environment; see [`crate::launch::environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// Input and output.
    pub streams: Streams,
    /// How long it may run.
    pub deadline: Deadline,
    /// How much of its output is kept.
    pub output_limit: OutputLimit,
    /// On whose behalf it runs.
    pub principal: Principal,
    /// Its working directory and confinement.
    pub setup: ChildSetup,
}

/// A working directory, held open so that no other directory can take its place.
#[derive(Debug)]
pub struct WorkDir {
    /// The directory.
    pub handle: OwnedFd,
    /// Its path, for `PWD` and for the view inside a cage.
    pub path: PathBuf,
}

impl WorkDir {
    /// Opens a directory that the caller has checked.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned() })
    }
}

/// How long a child may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// This long from its start.
    After(Duration),
    /// Without limit.
    None,
}

impl Deadline {
    /// When a child must end that began at `started`.
    pub(in crate::launch) fn moment(self, started: Instant) -> Option<Instant> {
        match self {
            Self::After(time) => started.checked_add(time),
            Self::None => None,
        }
    }
}
