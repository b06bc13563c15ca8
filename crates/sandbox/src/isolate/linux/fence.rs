//! The fence for model-written commands while isolation is off: a Landlock domain, the seccomp
//! filter, and no capabilities.
//!
//! It restricts writes, signals and system calls, not reads. Landlock cannot exclude a part of what
//! a rule grants, so a writable directory that contains something Protected is left out as a whole.
//!
//! Invariant: a fence only takes rights away.

use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::error::IsolateError;
use crate::isolate::host_files::HostEntryKind;
use crate::isolate::linux::kernel_error;
use crate::isolate::linux::kernel_mounts::kernel_mounts;
use crate::isolate::linux::landlock_rules::open_for_rule;
use crate::isolate::linux::seccomp_filter::{self, NO_CORE_HANDLER, NO_REAL_TIME};
use crate::isolate::linux::seccomp_rules::Sockets;
use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::launch::{ChildSetup, WorkDir};
use crate::printable::{printable, printable_path};
use picoclaw_policy::config::ExposeMode;
use picoclaw_sys::linux::Step;
use picoclaw_sys::linux::landlock::{self, Ruleset, access};
use std::path::{Path, PathBuf};

/// World-writable devices, and terminals.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// A Landlock domain for model-written commands.
#[derive(Debug)]
pub struct Fence {
    abi: Option<u32>,
    writable: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
}

impl Fence {
    /// Why there may be none.
    pub const WHY_NOT: &str = "this kernel has no Landlock";

    /// Whether this kernel can hold a fence.
    pub fn is_available() -> bool {
        landlock::abi().is_some()
    }

    /// A fence that leaves `writable` writable: the workspace, temporary directories, and what
    /// `allow_write_paths` names literally.
    pub fn new(writable: &[PathBuf], protected: &[PathBuf]) -> Self {
        let resolve = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let protected: Vec<PathBuf> = protected.iter().map(resolve).collect();
        let contains_protected =
            |path: &PathBuf| protected.iter().any(|hidden| hidden.starts_with(path) && hidden != path);
        let (left_out, writable): (Vec<_>, Vec<_>) =
            writable.iter().map(resolve).partition(contains_protected);
        for mount in kernel_mounts(&writable.iter().map(|path| shown(path)).collect::<Vec<_>>()) {
            let (path, kind) = (printable_path(&mount.point), printable(&mount.file_system));
            tracing::warn!(target: "isolation", "`{path}` is a mount of the host's (`{kind}`): commands behind the write fence may write there");
        }
        Self { abi: landlock::abi(), writable, left_out }
    }

    /// Directories that stay read-only because they contain something Protected.
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// How much of each layer the fence holds.
    pub fn enforced(&self) -> Enforced {
        let off = || Grade::None("isolation is off".into());
        let Some(abi) = self.abi else {
            let missing = || {
                Grade::None("isolation is off, and this kernel has no Landlock for the write fence".into())
            };
            return Enforced {
                filesystem: missing(),
                network: off(),
                processes: missing(),
                syscalls: Grade::Full,
                limits: off(),
            };
        };
        let beyond = "reads, modes and path-name sockets are not held";
        let filesystem = Grade::Partial(format!("only writes are held; {beyond}"));
        let processes = if abi >= 6 {
            Grade::Partial("signals are held; processes are visible".into())
        } else {
            Grade::None("this kernel's Landlock does not hold signals (needs Linux 6.12)".into())
        };
        Enforced { filesystem, network: off(), processes, syscalls: Grade::Full, limits: off() }
    }

    pub(crate) fn setup(&self, work_dir: WorkDir) -> Result<ChildSetup, IsolateError> {
        let mut setup = ChildSetup::unconfined(work_dir);
        setup.command.extend([NO_CORE_HANDLER, NO_REAL_TIME, Step::DropCapabilities, Step::NoNewPrivileges]);
        if let Some(abi) = self.abi {
            let ruleset = self.ruleset(abi).map_err(kernel_error("make the write fence"))?;
            setup.command.push(Step::LandlockRestrict(ruleset.number()));
            setup.ruleset = Some(ruleset);
            setup = setup.scope_signals(abi).map_err(kernel_error("make the write fence"))?;
        }
        setup.command.push(seccomp_filter::asking_step(Sockets::ALL, self.abi)?);
        Ok(setup)
    }

    fn ruleset(&self, abi: u32) -> std::io::Result<Ruleset> {
        let scoped = if abi >= 6 { landlock::SCOPE_SIGNALS | landlock::SCOPE_ABSTRACT_SOCKETS } else { 0 };
        let ruleset = Ruleset::new(abi, access::WRITES, scoped)?;
        let directories = self.writable.iter().map(|path| (path.as_path(), access::WRITES));
        // Containers have some as links.
        let devices: Vec<PathBuf> = DEVICES.iter().flat_map(std::fs::canonicalize).collect();
        let devices = devices.iter().map(|path| (path.as_path(), access::WRITE_FILE | access::TRUNCATE));
        for (path, rights) in directories.chain(devices) {
            // A path that does not exist needs no rule.
            if let Some((handle, of_kind)) = open_for_rule(path) {
                ruleset.allow(&handle, landlock::known_rights(abi, rights & of_kind))?;
            }
        }
        Ok(ruleset)
    }
}

fn shown(path: &Path) -> MountRule {
    MountRule::Bind {
        source: path.to_owned(),
        target: path.to_owned(),
        mode: ExposeMode::ReadWrite,
        kind: HostEntryKind::Directory,
        reason: MountReason::Workspace,
    }
}
