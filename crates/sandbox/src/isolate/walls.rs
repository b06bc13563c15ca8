//! What every kind of wall hands to the launch path.
//!
//! Invariant: whatever steps name by number is held here until the child has started.

use crate::isolate::error::IsolateError;
use picoclaw_sys::linux::landlock::{Ruleset, access};
use picoclaw_sys::linux::{Step, SupervisionMode};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Walls as steps.
pub(crate) struct Dress {
    pub(crate) namespaces: u32,
    pub(crate) mode: SupervisionMode,
    pub(crate) setup: Vec<Step>,
    pub(crate) command: Vec<Step>,
    pub(crate) memory_limit: u64,
    pub(crate) ruleset: Option<Ruleset>,
    pub(crate) held: Option<OwnedFd>,
    /// Where a builder's second stage writes once the walls stand.
    pub(crate) stage: Option<OwnedFd>,
    /// Where the child enters its working directory.
    pub(crate) entry: Entry,
    /// A program that builds the walls around the command, with its arguments before the command's own.
    pub(crate) builder: Option<(PathBuf, Vec<std::ffi::OsString>)>,
}

/// How a child comes to its working directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// By the handle that was judged.
    Handle,
    /// As a step of its own among the others.
    Step,
}

impl Dress {
    /// No walls yet.
    pub(crate) fn open() -> Self {
        Self {
            namespaces: 0,
            mode: SupervisionMode::Descendants,
            setup: Vec::new(),
            command: Vec::new(),
            memory_limit: 0,
            ruleset: None,
            held: None,
            stage: None,
            entry: Entry::Handle,
            builder: None,
        }
    }
}

/// An error of ours from one of the kernel's.
pub(super) fn hold(what: &'static str) -> impl Fn(std::io::Error) -> IsolateError {
    move |source| IsolateError::Kernel { what: what.into(), source }
}

/// A place to give rights at, and the rights that its kind can have; `None` when it is not there.
pub(super) fn open_place(path: &Path) -> Option<(OwnedFd, u64)> {
    let place = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&place).ok()?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Some((place, if is_directory { u64::MAX } else { access::OF_A_FILE }))
}
