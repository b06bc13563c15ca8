//! The working directory and the confinement of a child, as data.

use crate::launch::linux::cgroup::TreeLimits;
use crate::launch::linux::closed_network::ClosedNetwork;
use crate::launch::spec::WorkDir;
use picoclaw_sys::linux::landlock::{self, Ruleset, access};
use picoclaw_sys::linux::{Step, SupervisionMode};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The first Landlock ABI version that scopes signals.
const SIGNALS_SCOPED: u32 = 6;

/// The working directory and the confinement of one child.
#[derive(Debug)]
pub struct ChildSetup {
    /// `CLONE_NEW…` flags.
    pub(crate) namespaces: u32,
    /// The network that the supervisor enters, instead of a new one.
    pub(crate) network: Option<ClosedNetwork>,
    pub(crate) mode: SupervisionMode,
    /// Steps of the supervisor.
    pub(crate) setup: Vec<Step>,
    /// Steps of the command.
    pub(crate) command: Vec<Step>,
    /// Limit in bytes on the System V memory of the supervisor's IPC namespace; zero is no limit.
    pub(crate) system_v_limit: u64,
    /// Limits of the whole tree.
    pub(crate) tree_limits: TreeLimits,
    /// Directories inside the cage that lie on a tmpfs of its own.
    pub(crate) private_dirs: Vec<PathBuf>,
    /// Files and directories of the host that the child sees read-only within a tree that it may
    /// write.
    pub(crate) read_only: Vec<PathBuf>,
    /// The working directory; `None` where one of the command's steps enters it.
    pub(crate) work_dir: Option<OwnedFd>,
    /// The Landlock ruleset that steps name.
    pub(crate) ruleset: Option<Ruleset>,
    /// The ruleset of the supervisor's own domain, which steps name.
    pub(crate) scope: Option<Ruleset>,
    /// Other descriptors that steps name, open until the child has started.
    pub(crate) held: Vec<OwnedFd>,
    /// A file to which a builder writes once the confinement is complete; while it is empty, an
    /// exit is the builder's.
    pub(crate) ready_file: Option<OwnedFd>,
    /// A program that builds the confinement and runs the command in it, with its arguments before
    /// the command's.
    pub(crate) builder: Option<(PathBuf, Vec<OsString>)>,
}

impl ChildSetup {
    /// No confinement: the user's own rights.
    pub fn unconfined(work_dir: WorkDir) -> Self {
        Self {
            namespaces: 0,
            network: None,
            mode: SupervisionMode::Descendants,
            setup: Vec::new(),
            command: Vec::new(),
            system_v_limit: 0,
            tree_limits: TreeLimits::default(),
            private_dirs: Vec::new(),
            read_only: Vec::new(),
            work_dir: Some(work_dir.handle),
            ruleset: None,
            scope: None,
            held: Vec::new(),
            ready_file: None,
            builder: None,
        }
    }

    /// Whether the child gets a new network namespace from this program.
    pub(crate) fn has_new_network(&self) -> bool {
        self.namespaces & libc::CLONE_NEWNET as u32 != 0
    }

    /// Puts the child into this network instead of one of its own. Its loopback is up already, and
    /// the child has no capability over it.
    pub fn join_network(&mut self, network: &ClosedNetwork) {
        self.namespaces &= !(libc::CLONE_NEWNET as u32);
        self.setup.retain(|step| *step != Step::LoopbackUp);
        self.network = Some(network.clone());
    }

    /// Puts the supervisor into a Landlock domain that scopes signals, where this ABI has one. The
    /// command's own domain lies within it, so the supervisor reaches the whole tree and nothing
    /// else.
    pub(crate) fn scope_signals(mut self, abi: u32) -> io::Result<Self> {
        if abi >= SIGNALS_SCOPED {
            // Every domain denies renaming between directories unless it allows it.
            let root = openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            let renaming = if self.builder.is_some() { 0 } else { access::REFER };
            let scope = Ruleset::new(abi, renaming, landlock::SCOPE_SIGNALS)?;
            scope.allow(root, renaming)?;
            self.setup.extend([Step::NoNewPrivileges, Step::LandlockRestrict(scope.number())]);
            self.scope = Some(scope);
        }
        Ok(self)
    }
}
