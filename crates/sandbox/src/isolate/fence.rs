//! The fence: what the kernel holds of a model's command while isolation is off.
//!
//! It holds writes and signals, not reads; those are the guard's. Landlock cannot take a part out of what a rule
//! gives, so a writable place that contains something Protected is left out whole.
//!
//! Invariant: a fence never makes anything writable that was not.

use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::error::IsolateError;
use crate::isolate::walls::{Dress, hold, open_place};
use picoclaw_sys::linux::Step;
use picoclaw_sys::linux::landlock::{self, Ruleset, access};
use std::path::{Path, PathBuf};

/// Devices that everybody may write, and terminals.
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
    /// A fence around `writable`: the workspace, temporary directories, and what `allow_write_paths` names literally.
    pub fn new(writable: &[PathBuf], protected: &[PathBuf]) -> Self {
        let resolved = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let protected: Vec<PathBuf> = protected.iter().map(resolved).collect();
        let covers = |place: &PathBuf| protected.iter().any(|path| path.starts_with(place) && path != place);
        let (left_out, writable) = writable.iter().map(resolved).partition(covers);
        Self { abi: landlock::abi(), writable, left_out }
    }

    /// Places that could not be made writable, since something Protected lies in them.
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// What holds a command behind this fence.
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
                syscalls: off(),
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
        Enforced { filesystem, network: off(), processes, syscalls: off(), limits: off() }
    }

    pub(crate) fn dress(&self) -> Result<Dress, IsolateError> {
        let mut dress = Dress::open();
        dress.command.push(Step::NoNewPrivileges);
        if let Some(abi) = self.abi {
            let ruleset = self.ruleset(abi).map_err(hold("make the write fence"))?;
            dress.command.push(Step::LandlockRestrict(ruleset.number()));
            dress.ruleset = Some(ruleset);
        }
        Ok(dress)
    }

    fn ruleset(&self, abi: u32) -> std::io::Result<Ruleset> {
        let scoped = if abi >= 6 { landlock::SCOPE_SIGNALS | landlock::SCOPE_ABSTRACT_SOCKETS } else { 0 };
        let ruleset = Ruleset::new(abi, access::WRITES, scoped)?;
        let devices = DEVICES.iter().map(Path::new).map(|path| (path, access::WRITE_FILE | access::TRUNCATE));
        for (path, rights) in self.writable.iter().map(|path| (path.as_path(), access::WRITES)).chain(devices)
        {
            // What is not there cannot be written either.
            if let Some((place, of_its_kind)) = open_place(path) {
                ruleset.allow(&place, landlock::known_rights(abi, rights & of_its_kind))?;
            }
        }
        Ok(ruleset)
    }
}
