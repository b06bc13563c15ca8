//! What a confinement hands to the launch code: namespaces and the steps of the new process.
//!
//! Invariant: descriptors that steps refer to by number stay open here until the child has started.

use picoclaw_sys::linux::landlock::Ruleset;
use picoclaw_sys::linux::{Step, SupervisionMode};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A confinement as data for a new process.
pub(crate) struct ChildSetup {
    /// Flags of clone(2) for new namespaces.
    pub(crate) namespaces: u32,
    /// How the supervisor tracks the child's descendants.
    pub(crate) mode: SupervisionMode,
    /// Steps of the supervisor, before the command's process exists.
    pub(crate) setup: Vec<Step>,
    /// Steps of the command's process.
    pub(crate) command: Vec<Step>,
    /// The memory limit for the whole tree, in bytes; 0 for none.
    pub(crate) memory_limit: u64,
    /// The Landlock rules that steps refer to.
    pub(crate) ruleset: Option<Ruleset>,
    /// Another descriptor that steps refer to.
    pub(crate) held: Option<OwnedFd>,
    /// Where the builder writes once the confinement is complete.
    pub(crate) stage: Option<OwnedFd>,
    /// How the child enters its working directory.
    pub(crate) entry: WorkDirEntry,
    /// A program that confines the command, and its arguments before the command's own.
    pub(crate) builder: Option<(PathBuf, Vec<OsString>)>,
}

/// How a child enters its working directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkDirEntry {
    /// By the descriptor that was checked.
    Handle,
    /// By one of the steps.
    Step,
}

impl ChildSetup {
    /// No confinement.
    pub(crate) fn unconfined() -> Self {
        Self {
            namespaces: 0,
            mode: SupervisionMode::Descendants,
            setup: Vec::new(),
            command: Vec::new(),
            memory_limit: 0,
            ruleset: None,
            held: None,
            stage: None,
            entry: WorkDirEntry::Handle,
            builder: None,
        }
    }
}
