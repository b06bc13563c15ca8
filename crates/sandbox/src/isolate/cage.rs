//! A cage for one kind of child: its plan, and the rung that holds it here.
//!
//! Invariant: a child that starts in a cage has every layer its rung names; there is no half-built one.

use crate::isolate::error::IsolateError;
use crate::isolate::plan::Plan;
use crate::isolate::rootfs::{DEVICES, c_string};
use crate::isolate::rung::{Rung, host_rights};
use crate::isolate::walls::{Dress, Entry, hold, open_place};
use crate::isolate::{bwrap, filter, native, rights};
use crate::launch::WorkDir;
use picoclaw_policy::config::ExposeMode;
use picoclaw_sys::linux::landlock::{self, Ruleset, access};
use picoclaw_sys::linux::mount::DevIno;
use picoclaw_sys::linux::{SeccompFilter, Step, SupervisionMode};
use rustix::fs::MemfdFlags;
use rustix::process::Resource;
use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// Walls that the kernel keeps around a child.
#[derive(Debug)]
pub struct Cage {
    plan: Arc<Plan>,
    rung: Rung,
    filter: Arc<SeccompFilter>,
    landlock: Option<u32>,
}

impl Cage {
    /// A cage for a plan, held by `rung`; refuses what that rung cannot hold.
    pub fn new(plan: impl Into<Arc<Plan>>, rung: Rung) -> Result<Self, IsolateError> {
        let plan = plan.into();
        rung.check(&plan)?;
        let unfit = || hold("write the system call filter")(std::io::ErrorKind::InvalidData.into());
        let filter = Arc::new(filter::program().ok_or_else(unfit)?);
        Ok(Self { plan, rung, filter, landlock: landlock::abi() })
    }

    /// The plan it follows.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The rung that holds it.
    pub fn rung(&self) -> &Rung {
        &self.rung
    }

    /// The steps that put a child into this cage, working in `work_dir`.
    pub(crate) fn dress(&self, work_dir: &WorkDir) -> Result<Dress, IsolateError> {
        let mut dress = match &self.rung {
            Rung::Native => self.native(work_dir)?,
            Rung::Bwrap(program) => {
                let plan = Plan { work_dir: work_dir.path.clone(), ..Plan::clone(&self.plan) };
                let mut arguments = bwrap::bwrap_arguments(&plan);
                arguments.extend(bwrap::second_stage(plan.limits.processes));
                Dress { builder: Some((program.clone(), arguments)), ..self.for_bubblewrap()? }
            }
            Rung::Landlock => self.without_namespaces()?,
            Rung::Unsupported(why) => return Err(IsolateError::Unsupported { why }),
        };
        dress.memory_limit = self.plan.limits.memory_mb << 20;
        Ok(dress)
    }

    fn native(&self, work_dir: &WorkDir) -> Result<Dress, IsolateError> {
        let plan = &self.plan;
        let ruleset = self.ruleset(landlock::SCOPE_ABSTRACT_SOCKETS)?;
        let mut setup = native::setup(plan)?;
        if let (Some(ruleset), Some(abi)) = (&ruleset, self.landlock) {
            for (path, access) in rights::given(plan) {
                let access = landlock::known_rights(abi, access);
                setup.push(Step::LandlockAllow(ruleset.number(), c_string(path)?, access));
            }
        }
        setup.extend([Step::DropCapabilities, Step::NoNewPrivileges]);
        let stat = rustix::fs::fstat(&work_dir.handle)
            .map_err(|errno| IsolateError::Source { path: work_dir.path.clone(), source: errno.into() })?;
        let here = DevIno { device: stat.st_dev, inode: stat.st_ino };
        let mut command = vec![Step::Chdir(c_string(&work_dir.path)?, here)];
        command.extend(self.limits(true));
        command.extend(ruleset.as_ref().map(|ruleset| Step::LandlockRestrict(ruleset.number())));
        command.push(Step::Seccomp(Arc::clone(&self.filter)));
        let (namespaces, mode) = (native::namespaces(plan.network), SupervisionMode::Namespace);
        Ok(Dress { namespaces, mode, setup, command, ruleset, entry: Entry::Step, ..Dress::open() })
    }

    /// Bubblewrap installs the filter itself, after it has built the rest; the second stage then says that it stands.
    fn for_bubblewrap(&self) -> Result<Dress, IsolateError> {
        let kernel = |errno: rustix::io::Errno| hold("hand the filter to bubblewrap")(errno.into());
        let file = rustix::fs::memfd_create("filter", MemfdFlags::CLOEXEC).map_err(kernel)?;
        rustix::io::write(&file, &self.filter.bytes()).map_err(kernel)?;
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0)).map_err(kernel)?;
        let stage = rustix::fs::memfd_create("stage", MemfdFlags::CLOEXEC).map_err(kernel)?;
        let mut command = self.limits(false);
        for (fd, number) in [(&stage, bwrap::STAGE_FD), (&file, bwrap::FILTER_FD)] {
            command.push(Step::DupFd(fd.as_raw_fd(), number));
        }
        let mode = SupervisionMode::Builder;
        Ok(Dress { command, mode, held: Some(file), stage: Some(stage), ..Dress::open() })
    }

    fn without_namespaces(&self) -> Result<Dress, IsolateError> {
        let mut command = self.limits(false);
        command.extend([Step::DropCapabilities, Step::NoNewPrivileges]);
        let lost = || hold("make Landlock rules")(std::io::ErrorKind::Unsupported.into());
        let ruleset =
            self.ruleset(landlock::SCOPE_ABSTRACT_SOCKETS | landlock::SCOPE_SIGNALS)?.ok_or_else(lost)?;
        let abi = self.landlock.unwrap_or(0);
        let shown = host_rights(&self.plan).into_iter().map(|(path, mode)| match mode {
            ExposeMode::ReadOnly => (path, access::READS),
            ExposeMode::ReadWrite => (path, access::READS | access::WRITES),
        });
        let devices = DEVICES.map(|device| {
            (OsStr::from_bytes(device.to_bytes()).into(), access::READ_FILE | access::WRITE_FILE)
        });
        for (path, wanted) in shown.chain(devices) {
            if let Some((place, of_its_kind)) = open_place(&path) {
                let wanted = landlock::known_rights(abi, wanted & of_its_kind);
                ruleset.allow(&place, wanted).map_err(hold("make Landlock rules"))?;
            }
        }
        command.push(Step::LandlockRestrict(ruleset.number()));
        command.push(Step::Seccomp(Arc::clone(&self.filter)));
        Ok(Dress { command, ruleset: Some(ruleset), ..Dress::open() })
    }

    fn ruleset(&self, scoped: u64) -> Result<Option<Ruleset>, IsolateError> {
        let Some(abi) = self.landlock else { return Ok(None) };
        // Abstract sockets belong to the network namespace, which a child may share with the host.
        let scoped = if abi >= 6 { scoped } else { 0 };
        Ruleset::new(abi, rights::TAKEN, scoped).map(Some).map_err(hold("make Landlock rules"))
    }

    /// Limits for each process. The number of processes is counted per user namespace: outside of one of our own it
    /// would count everything the user runs.
    fn limits(&self, own_namespace: bool) -> Vec<Step> {
        let limits = self.plan.limits;
        let steps = [
            (Resource::Data, limits.memory_mb << 20),
            (Resource::Nproc, if own_namespace { limits.processes } else { 0 }),
            (Resource::Fsize, limits.file_size_mb << 20),
            (Resource::Nofile, limits.open_files),
            (Resource::Cpu, limits.cpu_seconds),
        ];
        let held = steps.into_iter().filter(|(_, value)| *value > 0);
        held.map(|(resource, value)| Step::Rlimit(resource, value))
            .chain([Step::Rlimit(Resource::Core, 0)])
            .collect()
    }
}
