//! A command of the operator: `picoclaw run` and `picoclaw mcp wrap`.
//!
//! It is caged whatever the configuration says about isolation, and recorded before it starts and
//! when it ends.

use super::exec_env::log_unenforced;
use crate::confine::{CageRequest, ChildDir, PlannedCage};
use crate::file_lock::FileLock;
use crate::instance::Instance;
use crate::isolate::{
    Backend, CommandSource, IsolateError, MountReason, MountRule, Plan, PlanError, StartError,
    UserEnvironment, select_backend,
};
use crate::launch::environment::{self, Variables};
use crate::launch::{
    self, LaunchError, LaunchSpec, NetCounters, Principal, ProgramError, Running, Status, Streams, WorkDir,
};
use crate::ledger::{Entry, Ledger, LedgerError};
use crate::permit::OutcomeGuard;
use crate::project_envs::ProjectEnvs;
use crate::protect::{Report, Watch};
use crate::state_dir::StateError;
use picoclaw_policy::config::{Backend as BackendChoice, IsolationConfig, Network};
use picoclaw_policy::{Grant, Subject, Verdict, Zone};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A command of the operator.
#[derive(Debug)]
pub struct OperatorCommand<'c> {
    /// The cage, with the command line's flags on top of the configuration.
    pub isolation: &'c IsolationConfig,
    /// The instance; the child sees only its own user environment of it.
    pub instance: &'c Instance,
    /// Whose user environment it gets.
    pub principal: Principal,
    /// Where it works.
    pub dir: ChildDir<'c>,
    /// Where a program that is named by a relative path is looked for.
    pub from: &'c Path,
    /// The program and its arguments.
    pub command: &'c [OsString],
    /// Variables that the operator gave it, on top of those that pass.
    pub variables: &'c [(OsString, OsString)],
    /// The operator's own environment.
    pub host: Variables,
    /// Its input and output.
    pub streams: Streams,
    /// On whose behalf it is recorded.
    pub subject: Subject,
    /// The name of the tool in the record.
    pub tool: &'c str,
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum OperatorCommandError {
    /// The program cannot be found.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// There is no command.
    #[error("there is no command to run")]
    Nothing,
    /// No cage is available on this host.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The cage cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The cage cannot be built.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    /// The child cannot be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The project's user environment cannot be used.
    #[error(transparent)]
    Environment(#[from] StateError),
    /// It cannot be recorded, so it is not run.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A directory cannot be used.
    #[error("could not use `{}`", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl OperatorCommandError {
    /// The exit code: 126 and 127 as shells do, 125 for everything about the cage.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Program(why) => why.exit_code(),
            Self::Launch(why) => why.exit_code(),
            _ => 125,
        }
    }

    /// What would help.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Start(StartError::DisabledKernelFeatures { .. }) => {
                Some("show it under its own path; another path inside needs user namespaces".to_owned())
            }
            // The rest of the hint is about switching isolation off, which is not possible here.
            Self::Start(why) => why.hint().lines().next().map(str::to_owned),
            Self::Launch(why) => why.hint(),
            _ => None,
        }
    }
}

/// A running command. Dropping it kills its process tree.
#[derive(Debug)]
pub struct RunningCommand {
    /// The child.
    pub running: Running,
    outcome: OutcomeGuard,
    protected: Watch,
    plan: Arc<Plan>,
    work_dir: PathBuf,
    /// Those of a network namespace that is closed.
    network: Option<NetCounters>,
    /// Held until the child has ended.
    in_use: Option<FileLock>,
}

/// A path that a failed command may have missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenTarget {
    /// A link in its directory, or an argument.
    pub name: PathBuf,
    /// What it leads to, which the cage does not show.
    pub target: PathBuf,
}

/// The most names of a directory that are looked at, and the most paths that are named.
const MAX_NAMES: usize = 1_000;
const MAX_HIDDEN: usize = 3;

impl RunningCommand {
    /// Links in the working directory and in the workspace, and arguments, that lead to what the
    /// cage does not show. What lies behind a name with a dot is not for a hint.
    pub fn hidden_targets(&self, arguments: &[OsString]) -> Vec<HiddenTarget> {
        let workspaces = self.plan.mounts.iter().filter_map(|rule| match rule {
            MountRule::Bind { source, reason: MountReason::Workspace, .. } => Some(source.as_path()),
            _ => None,
        });
        let dirs = workspaces.filter(|dir| *dir != self.work_dir).chain([self.work_dir.as_path()]);
        let names = dirs.filter_map(|dir| std::fs::read_dir(dir).ok());
        let links = names.flat_map(|names| names.flatten().take(MAX_NAMES));
        let links = links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        let named = arguments.iter().map(|argument| self.work_dir.join(argument));
        let mut hidden: Vec<HiddenTarget> = Vec::new();
        for name in links.map(|entry| entry.path()).chain(named) {
            let Ok(target) = name.canonicalize() else { continue };
            let common = target.iter().zip(&self.work_dir).take_while(|(one, other)| one == other).count();
            let is_private = target.iter().skip(common).any(|part| part.as_encoded_bytes().starts_with(b"."));
            let is_shown = self.plan.shows(&target) || self.plan.private_dirs().contains(&target);
            let is_known = hidden.iter().any(|known| known.target == target);
            if !is_private && !is_shown && !is_known && !is_system_path(&target) {
                hidden.push(HiddenTarget { name, target });
            }
        }
        hidden.truncate(MAX_HIDDEN);
        hidden
    }

    /// Whether a command whose network is closed tried to reach a host, as far as that is known.
    pub fn missed_network(&self) -> bool {
        self.network.as_ref().is_some_and(NetCounters::has_tried)
    }

    /// Records how the child ended, and returns what became of the protected files.
    pub fn finish(self, status: Status) -> Report {
        let Self { outcome, protected, in_use, .. } = self;
        let report = protected.settle(outcome, status);
        drop(in_use);
        report
    }
}

impl OperatorCommand<'_> {
    /// Starts the child in its cage, and returns when its program runs.
    pub fn start(&self, ledger: Ledger) -> Result<RunningCommand, OperatorCommandError> {
        let in_use = self.enter_project()?;
        Ok(RunningCommand { in_use, ..self.start_child(ledger)? })
    }

    /// Keeps the project's user environment from being removed; `None` if no project has it.
    fn enter_project(&self) -> Result<Option<FileLock>, OperatorCommandError> {
        let project = match (&self.principal, self.dir) {
            (Principal::Project(path), _) => path.as_path(),
            (Principal::Mcp(_), ChildDir::Path { path, .. } | ChildDir::Project { path, .. }) => path,
            _ => return Ok(None),
        };
        Ok(Some(ProjectEnvs::open(self.instance.home())?.enter(&self.principal, project)?))
    }

    fn start_child(&self, ledger: Ledger) -> Result<RunningCommand, OperatorCommandError> {
        let ledger = Arc::new(ledger);
        let path = environment::get(&self.host, "PATH").unwrap_or_default();
        let name = self.command.first().ok_or(OperatorCommandError::Nothing)?;
        let program = launch::find_program(name, path, self.from)?;
        let user = UserEnvironment::of(self.instance.home(), &self.principal);
        user.prepare().map_err(|errno| unusable(user.path(), errno))?;
        let planned = PlannedCage::new(CageRequest {
            isolation: self.isolation,
            instance: self.instance,
            user: &user,
            dir: self.dir,
            source: CommandSource::Operator { program: &program, arguments: self.shown_arguments() },
            protected: self.instance.covered(),
            host: &self.host,
        })?;
        for rule in planned.lines() {
            tracing::info!(target: "isolation", rule, "linux isolation mount plan");
        }
        let prepared = PreparedCommand { program: &program, planned, work_dir: self.dir.resolve(&user) };
        // A native cage is attempted without a probe: where it works, the probe would be a second
        // cage.
        let native = Backend::Native.enforced(self.isolation).lacks(&self.isolation.require).is_none();
        if native && self.isolation.backend == BackendChoice::Auto {
            match self.start_on(&Backend::Native, &prepared, &ledger) {
                Err(OperatorCommandError::Launch(LaunchError::Confinement(_) | LaunchError::Step { .. })) => {
                }
                done => return done,
            }
        }
        let backend = select_backend(self.isolation, path)?;
        log_unenforced(&backend, self.isolation);
        self.start_on(&backend, &prepared, &ledger)
    }

    /// Arguments whose paths are shown to the child. None for a person's own command: what it may
    /// see beyond its directory is said with flags. The command line of a server is written once
    /// and names what the server is for.
    fn shown_arguments(&self) -> &[OsString] {
        match self.principal {
            Principal::Project(_) => &[],
            _ => self.command.get(1..).unwrap_or_default(),
        }
    }

    /// Records the command, then starts the child.
    fn start_on(
        &self,
        backend: &Backend,
        prepared: &PreparedCommand<'_>,
        ledger: &Arc<Ledger>,
    ) -> Result<RunningCommand, OperatorCommandError> {
        let PreparedCommand { program, planned, work_dir } = prepared;
        let confined = planned.build(backend)?;
        let handle = WorkDir::open(work_dir).map_err(|errno| unusable(work_dir, errno))?;
        let decided = self.decided(work_dir).enforcing(confined.layers());
        ledger.append(std::slice::from_ref(&decided))?;
        let outcome = OutcomeGuard::new(Arc::clone(ledger), decided);
        let (argv, principal) = (self.command.to_vec(), self.principal.clone());
        let started =
            confined.spec(program.to_path_buf(), argv, handle, principal).and_then(|(spec, protected)| {
                let mut spec = LaunchSpec { streams: self.streams.clone(), ..spec };
                for (name, value) in self.variables {
                    environment::set(&mut spec.environment, name, value.clone());
                }
                Ok((launch::start(spec)?, protected))
            });
        match started {
            Ok((running, protected)) => {
                let (plan, work_dir) = (Arc::clone(planned.plan()), work_dir.clone());
                // With bubblewrap the supervisor is outside of the namespace.
                let is_closed = plan.network == Network::None && *backend == Backend::Native;
                let network = is_closed.then(|| NetCounters::of(running.pid()));
                Ok(RunningCommand { running, outcome, protected, plan, work_dir, network, in_use: None })
            }
            Err(why) => {
                outcome.settle_as(&format!("not started: {why}"));
                Err(why.into())
            }
        }
    }

    fn decided(&self, work_dir: &Path) -> Entry {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        let intent = format!("run in {}: {}", work_dir.display(), words.join(" "));
        let verdict =
            Verdict::Allow(Grant { zone: Zone::Workspace, rule: "the operator's own command".to_owned() });
        Entry::decided(&self.subject, self.tool, &intent, &verdict)
    }
}

/// What does not depend on the backend.
struct PreparedCommand<'c> {
    program: &'c Path,
    planned: PlannedCage<'c>,
    work_dir: PathBuf,
}

/// Whether a path is the kernel's or the system's, of which a cage has its own selection.
fn is_system_path(path: &Path) -> bool {
    let system = ["/boot", "/dev", "/etc", "/proc", "/run", "/sys"];
    path == Path::new("/") || system.iter().any(|own| path.starts_with(own))
}

fn unusable(path: &Path, errno: rustix::io::Errno) -> OperatorCommandError {
    OperatorCommandError::Directory { path: path.to_owned(), source: errno.into() }
}
