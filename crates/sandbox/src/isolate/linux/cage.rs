//! A cage: a plan and the backend that enforces it.
//!
//! Invariant: a child that starts in a cage has every layer that its backend names; a failed step
//! stops the child.

use crate::isolate::backend::Backend;
use crate::isolate::error::IsolateError;
use crate::isolate::linux::backend_enforced::host_rights;
use crate::isolate::linux::host_sockets::HostSockets;
use crate::isolate::linux::kernel_error;
use crate::isolate::linux::kernel_mounts::kernel_mounts;
use crate::isolate::linux::landlock_rules::{HANDLED, granted_rights, open_for_rule};
use crate::isolate::linux::proc_masks::masked_entries;
use crate::isolate::linux::rootfs::{DEVICES, c_string, open_source};
use crate::isolate::linux::seccomp_filter::{self, NO_CORE_HANDLER, NO_REAL_TIME};
use crate::isolate::linux::seccomp_rules::Sockets;
use crate::isolate::linux::{bwrap, bwrap_landlock, native};
use crate::isolate::mount_rules::MountRule;
use crate::isolate::plan::Plan;
use crate::isolate::plan_text::rule_line;
use crate::launch::{ChildSetup, TreeLimits, WorkDir, has_children};
use crate::printable::{printable, printable_path};
use picoclaw_policy::config::ExposeMode;
use picoclaw_sys::linux::landlock::{self, Ruleset, access};
use picoclaw_sys::linux::mount::DevIno;
use picoclaw_sys::linux::{SeccompFilter, Step, SupervisionMode};
use rustix::fs::MemfdFlags;
use rustix::process::Resource;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A confinement with its own view of the file system.
#[derive(Debug)]
pub struct Cage {
    plan: Arc<Plan>,
    backend: Backend,
    /// The filter of a child with a pid namespace.
    filter: Arc<SeccompFilter>,
    landlock: Option<u32>,
    /// Sockets that are surely the host's, if children share its network.
    sockets: Option<Mutex<HostSockets>>,
}

impl Cage {
    /// A cage for `plan`; refuses what `backend` cannot enforce.
    pub fn new(plan: impl Into<Arc<Plan>>, backend: Backend) -> Result<Self, IsolateError> {
        let plan = plan.into();
        backend.check(&plan)?;
        for mount in kernel_mounts(&plan.mounts) {
            let (path, kind) = (printable_path(&mount.point), printable(&mount.file_system));
            if backend.has_mounts() {
                tracing::warn!(target: "isolation", "`{path}` is a mount of the host's (`{kind}`): it is hidden from commands; a flag or an exposure that names it shows it");
            } else if mount.is_writable {
                let what =
                    format!("hiding `{path}`, a mount of the host's (`{kind}`), within something exposed");
                return Err(IsolateError::CannotEnforce { what });
            }
        }
        let filter = Arc::new(seccomp_filter::caged_program(plan.debug)?);
        let shares_network = plan.network.is_open() && backend.has_mounts();
        let sockets = if shares_network { Some(Mutex::new(HostSockets::read()?)) } else { None };
        Ok(Self { plan, backend, filter, landlock: landlock::abi(), sockets })
    }

    /// The plan that it enforces.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether it keeps what is not shown from being read.
    pub(crate) fn hides_files(&self) -> bool {
        true
    }

    /// The backend that enforces it.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The setup of a child in this cage, working in `work_dir`, with these mounts over its
    /// workspace.
    pub(crate) fn setup(
        &self,
        work_dir: WorkDir,
        protected: Vec<MountRule>,
    ) -> Result<ChildSetup, IsolateError> {
        let mut read_only = Vec::new();
        let mut setup = match &self.backend {
            Backend::Native | Backend::NativeHostProc => {
                let plan = self.masked_plan()?.with_protected(protected);
                read_only = plan.read_only_in_writable();
                self.native(work_dir, &plan)?
            }
            Backend::Bwrap(program) => {
                let plan = self.masked_plan()?.with_protected(protected);
                read_only = plan.read_only_in_writable();
                let plan = Plan { work_dir: work_dir.path.clone(), ..plan };
                let mut setup = self.bwrap(work_dir)?;
                let mut open = BTreeMap::new();
                for (target, source) in bwrap::sources_in_writable_trees(&plan) {
                    let file = above_bwrap_fds(&open_source(source)?)?;
                    open.insert(target, file.as_raw_fd());
                    // Bubblewrap inherits it by the same number.
                    setup.command.push(Step::DupFd(file.as_raw_fd(), file.as_raw_fd()));
                    setup.held.push(file);
                }
                let mut arguments = bwrap::bwrap_arguments(&plan, &masked_entries(), &open);
                if let (Some(_), Some(abi)) = (&setup.ruleset, self.landlock) {
                    arguments.extend(bwrap_landlock::arguments(&plan, abi));
                }
                arguments.extend(bwrap::second_stage(plan.limits.processes));
                let setup = ChildSetup { builder: Some((program.clone(), arguments)), ..setup };
                match self.landlock {
                    // A domain needs no_new_privs, which keeps a set-user-ID bubblewrap from its
                    // privileges. Around a domain for files it would refuse renaming between
                    // directories: it cannot allow that, since then bubblewrap could not mount.
                    Some(abi) if setup.ruleset.is_none() && !bwrap::is_set_id(program) => {
                        setup.scope_signals(abi).map_err(kernel_error("scope signals"))?
                    }
                    _ => setup,
                }
            }
            Backend::Landlock => self.landlock(work_dir)?,
            Backend::RestrictedToken | Backend::Unsupported(_) => {
                return Err(IsolateError::Unsupported { why: self.backend.unsupported() });
            }
        };
        let limits = self.plan.limits;
        setup.read_only = read_only;
        setup.tree_limits = TreeLimits { memory_bytes: limits.memory_mb << 20, processes: limits.processes };
        if self.backend != Backend::Landlock {
            setup.private_dirs = self.plan.private_dirs();
        }
        Ok(setup)
    }

    /// The plan, with covers over the kernel's mounts and masks over the sockets of the host
    /// wherever they lie now.
    ///
    /// A child with a network of its own binds its sockets there, so that all that are seen here
    /// are the host's. In a shared network they may be those of another command of this cage, which
    /// its commands may use: there only what was bound while no child ran is surely the host's.
    fn masked_plan(&self) -> Result<Cow<'_, Plan>, IsolateError> {
        // Asked before and after: the list may have the sockets of a child that ends or starts
        // meanwhile.
        let had_children = has_children();
        let bound = HostSockets::read()?;
        let covers: Vec<_> = kernel_mounts(&self.plan.mounts).into_iter().map(|mount| mount.cover).collect();
        let mut plan = Cow::Borrowed(&*self.plan);
        if !covers.is_empty() {
            plan.to_mut().mounts.extend(covers.iter().cloned());
        }
        let masks = match &self.sockets {
            None => bound.masks(&bound, &plan.mounts)?,
            Some(known) => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if !had_children && !has_children() {
                    known.clone_from(&bound);
                }
                known.masks(&bound, &plan.mounts)?
            }
        };
        for rule in covers.iter().chain(&masks) {
            tracing::info!(target: "isolation", rule = rule_line(rule), "{}", super::PLAN_LOG_ENTRY);
        }
        if !masks.is_empty() {
            plan.to_mut().mounts.extend(masks);
        }
        Ok(plan)
    }

    fn native(&self, work_dir: WorkDir, plan: &Plan) -> Result<ChildSetup, IsolateError> {
        let ruleset = self.ruleset(landlock::SCOPE_ABSTRACT_SOCKETS)?;
        let mut setup = native::setup(plan, self.backend == Backend::NativeHostProc)?;
        if let (Some(ruleset), Some(abi)) = (&ruleset, self.landlock) {
            // `mq_open` makes message queues as files there.
            let queues = (Path::new("/dev/mqueue"), HANDLED);
            for (path, access) in granted_rights(plan).into_iter().chain([queues]) {
                let access = landlock::known_rights(abi, access);
                setup.push(Step::LandlockAllow(ruleset.number(), c_string(path)?, access));
            }
        }
        setup.extend([Step::DropCapabilities, Step::NoNewPrivileges]);
        let stat = rustix::fs::fstat(&work_dir.handle)
            .map_err(|errno| IsolateError::Source { path: work_dir.path.clone(), source: errno.into() })?;
        let expected = DevIno { device: stat.st_dev, inode: stat.st_ino };
        let mut command = vec![Step::Chdir(c_string(&work_dir.path)?, expected)];
        // RLIMIT_NPROC counts per user namespace, and this child has one of its own.
        command.extend(self.limits(self.plan.limits.processes));
        command.extend(ruleset.as_ref().map(|ruleset| Step::LandlockRestrict(ruleset.number())));
        command.push(Step::Seccomp(Arc::clone(&self.filter)));
        Ok(ChildSetup {
            namespaces: native::namespaces(&plan.network),
            mode: SupervisionMode::Namespace,
            setup,
            command,
            ruleset,
            system_v_limit: plan.limits.memory_mb << 20,
            work_dir: None,
            ..ChildSetup::unconfined(work_dir)
        })
    }

    /// Bubblewrap installs the filter itself, as its last act; then this program enters the
    /// Landlock domain, and the second stage reports success.
    fn bwrap(&self, work_dir: WorkDir) -> Result<ChildSetup, IsolateError> {
        let failed = |errno: rustix::io::Errno| kernel_error("hand the filter to bubblewrap")(errno.into());
        let memfd = |name: &str| {
            let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC).map_err(failed)?;
            above_bwrap_fds(&file)
        };
        let mut filter = File::from(memfd("filter")?);
        filter
            .write_all(&self.filter.bytes())
            .and_then(|()| filter.rewind())
            .map_err(kernel_error("hand the filter to bubblewrap"))?;
        let filter = OwnedFd::from(filter);
        let stage = memfd("stage")?;
        let mut command = self.limits(0);
        let mut held = Vec::new();
        let ruleset = match bwrap_landlock::program()? {
            Some(program) => {
                let ruleset = self.ruleset(landlock::SCOPE_ABSTRACT_SOCKETS)?;
                let program = above_bwrap_fds(&program)?;
                // First, since the ruleset's own number may be one of the targets.
                command.extend(
                    ruleset.as_ref().map(|set| Step::DupFd(set.number(), bwrap_landlock::RULESET_FD)),
                );
                command.push(Step::DupFd(program.as_raw_fd(), bwrap_landlock::PROGRAM_FD));
                held.push(program);
                ruleset
            }
            None => None,
        };
        for (fd, number) in [(&stage, bwrap::STAGE_FD), (&filter, bwrap::FILTER_FD)] {
            command.push(Step::DupFd(fd.as_raw_fd(), number));
        }
        held.push(filter);
        let (mode, ready_file) = (SupervisionMode::Builder, Some(stage));
        Ok(ChildSetup { command, mode, held, ruleset, ready_file, ..ChildSetup::unconfined(work_dir) })
    }

    fn landlock(&self, work_dir: WorkDir) -> Result<ChildSetup, IsolateError> {
        const WHAT: &str = "make Landlock rules";
        let mut command = self.limits(0);
        command.extend([Step::DropCapabilities, Step::NoNewPrivileges]);
        let missing = || kernel_error(WHAT)(io::ErrorKind::Unsupported.into());
        let scoped = landlock::SCOPE_ABSTRACT_SOCKETS | landlock::SCOPE_SIGNALS;
        let ruleset = self.ruleset(scoped)?.ok_or_else(missing)?;
        let abi = self.landlock.unwrap_or(0);
        let shown = host_rights(&self.plan).into_iter().map(|(path, mode)| match mode {
            ExposeMode::ReadOnly => (path, access::READS),
            ExposeMode::ReadWrite => (path, access::READS | access::WRITES),
        });
        let devices = DEVICES.map(|device| {
            (OsStr::from_bytes(device.to_bytes()).into(), access::READ_FILE | access::WRITE_FILE)
        });
        for (path, wanted) in shown.chain(devices) {
            if let Some((handle, of_kind)) = open_for_rule(&path) {
                let wanted = landlock::known_rights(abi, wanted & of_kind);
                ruleset.allow(&handle, wanted).map_err(kernel_error(WHAT))?;
            }
        }
        command.push(Step::LandlockRestrict(ruleset.number()));
        let sockets = Sockets { unix: self.plan.unix_sockets, network: self.plan.network.is_open() };
        command.push(seccomp_filter::asking_step(sockets, self.landlock)?);
        let setup = ChildSetup { command, ruleset: Some(ruleset), ..ChildSetup::unconfined(work_dir) };
        setup.scope_signals(abi).map_err(kernel_error(WHAT))
    }

    fn ruleset(&self, scoped: u64) -> Result<Option<Ruleset>, IsolateError> {
        let Some(abi) = self.landlock else { return Ok(None) };
        // Abstract sockets belong to the network namespace, which a child may share with the host.
        let scoped = if abi >= 6 { scoped } else { 0 };
        Ruleset::new(abi, HANDLED, scoped).map(Some).map_err(kernel_error("make Landlock rules"))
    }

    /// Resource limits of each process; those that are 0 are not set.
    fn limits(&self, processes: u64) -> Vec<Step> {
        let limits = self.plan.limits;
        let steps = [
            (Resource::Nproc, processes),
            (Resource::Fsize, limits.file_size_mb << 20),
            (Resource::Nofile, limits.open_files),
            (Resource::Cpu, limits.cpu_seconds),
        ];
        let set = steps.into_iter().filter(|(_, value)| *value > 0);
        let set = set.map(|(resource, value)| Step::Rlimit(resource, value));
        set.chain([NO_CORE_HANDLER, NO_REAL_TIME]).collect()
    }
}

/// A copy that is numbered above the descriptors that are set for bubblewrap, so that setting one
/// does not close it.
fn above_bwrap_fds(file: &OwnedFd) -> Result<OwnedFd, IsolateError> {
    rustix::io::fcntl_dupfd_cloexec(file, bwrap::FILTER_FD + 1)
        .map_err(|errno| kernel_error("hand a descriptor to bubblewrap")(errno.into()))
}
