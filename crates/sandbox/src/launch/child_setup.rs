//! The working directory and the confinement of a child, as data.

use crate::launch::spec::WorkDir;
use picoclaw_sys::linux::landlock::Ruleset;
use picoclaw_sys::linux::{Step, SupervisionMode};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The working directory and the confinement of one child.
#[derive(Debug)]
pub struct ChildSetup {
    /// `CLONE_NEW…` flags.
    pub(crate) namespaces: u32,
    pub(crate) mode: SupervisionMode,
    /// Steps of the supervisor.
    pub(crate) setup: Vec<Step>,
    /// Steps of the command.
    pub(crate) command: Vec<Step>,
    /// Limit in bytes on the memory of the whole tree; zero is no limit.
    pub(crate) memory_limit: u64,
    /// The working directory; `None` where one of the command's steps enters it.
    pub(crate) work_dir: Option<OwnedFd>,
    /// The Landlock ruleset that steps name.
    pub(crate) ruleset: Option<Ruleset>,
    /// Other descriptors that steps name.
    #[expect(dead_code, reason = "keeps the descriptors open until the child has started")]
    pub(crate) held: Vec<OwnedFd>,
    /// A file to which a builder writes once the confinement is complete; while it is empty, an exit is the builder's.
    pub(crate) ready_file: Option<OwnedFd>,
    /// A program that builds the confinement and runs the command in it, with its arguments before the command's.
    pub(crate) builder: Option<(PathBuf, Vec<OsString>)>,
}

impl ChildSetup {
    /// No confinement: the user's own rights.
    pub fn unconfined(work_dir: WorkDir) -> Self {
        Self {
            namespaces: 0,
            mode: SupervisionMode::Descendants,
            setup: Vec::new(),
            command: Vec::new(),
            memory_limit: 0,
            work_dir: Some(work_dir.handle),
            ruleset: None,
            held: Vec::new(),
            ready_file: None,
            builder: None,
        }
    }
}
