//! The description of a child.
//!
//! Invariant: a spec is complete; starting it looks up no name but the program's, which is absolute.

use crate::isolate::{Cage, Fence};
use crate::launch::clip::Bounds;
use crate::launch::principal::Principal;
use crate::launch::streams::Streams;
use rustix::fs::{CWD, Mode, OFlags};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Everything about one child that its caller decides.
#[derive(Debug)]
pub struct LaunchSpec {
    /// The program, absolute and resolved already; see [`crate::launch::find_program`].
    pub program: PathBuf,
    /// Its arguments, its own name first.
    pub argv: Vec<OsString>,
    /// Where it works.
    pub work_dir: WorkDir,
    /// Its whole environment; see [`crate::launch::environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// Its input and output.
    pub streams: Streams,
    /// How long it may take.
    pub deadline: Deadline,
    /// How much of its output is kept.
    pub bounds: Bounds,
    /// On whose behalf it runs.
    pub principal: Principal,
    /// What holds it.
    pub walls: Walls,
}

/// A directory to work in: held open, so that nobody can put another in its place.
#[derive(Debug)]
pub struct WorkDir {
    /// The directory itself.
    pub handle: OwnedFd,
    /// Its name, for `PWD` and for the view inside a cage.
    pub path: PathBuf,
}

impl WorkDir {
    /// Opens a directory that the caller has judged already.
    pub fn open(path: &Path) -> Result<Self, rustix::io::Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned() })
    }
}

/// How long a child may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// This long from its start.
    After(Duration),
    /// As long as it likes.
    None,
}

/// What holds a child.
#[derive(Debug, Clone)]
pub enum Walls {
    /// Nothing but the user's own rights.
    Open,
    /// Its writes and signals, by the kernel: for a model's command while isolation is off.
    Fence(Arc<Fence>),
    /// A cage of its own.
    Cage(Arc<Cage>),
}
