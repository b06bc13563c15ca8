//! An errand: one command of the operator's own, in a cage.
//!
//! Invariant: always caged, whatever the configuration says about isolation; recorded before it starts and when it ends.

use super::quarters::{cage_environment, operator_home};
use super::workshop::tell_losses;
use crate::guest::Stay;
use crate::instance::Instance;
use crate::isolate::{
    Backend, Cage, CommandSource, InstancePaths, IsolateError, LiveHost, Plan, PlanError, PlanRequest,
    StartError, UserEnvironment, WorkspaceMount, plan, select_backend,
};
use crate::launch::environment::{self, Variables};
use crate::launch::{
    self, Bounds, Deadline, LaunchError, LaunchSpec, Principal, ProgramError, Running, Status, Streams,
    Walls, WorkDir,
};
use crate::ledger::{Entry, Ledger, LedgerError};
use picoclaw_policy::config::{Backend as BackendChoice, IsolationConfig};
use picoclaw_policy::{Grant, Subject, Verdict, Zone};
use std::ffi::OsString;
use std::io;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What the operator wants run.
#[derive(Debug)]
pub struct Errand<'e> {
    /// The cage, with the command line's flags on top of the configuration.
    pub isolation: &'e IsolationConfig,
    /// The instance, of which the child sees its own environment alone.
    pub instance: &'e Instance,
    /// On whose behalf it runs: whose user environment it gets.
    pub principal: Principal,
    /// Where it works.
    pub stay: Stay<'e>,
    /// Where a program that is named by a relative path is looked for.
    pub from: &'e Path,
    /// The program and its arguments.
    pub command: &'e [OsString],
    /// What the operator gave this command, on top of what passes.
    pub variables: &'e [(OsString, OsString)],
    /// The operator's own environment.
    pub host: Variables,
    /// Its input and output.
    pub streams: Streams,
    /// Who asks.
    pub subject: Subject,
    /// What the record calls it.
    pub tool: &'e str,
}

/// Why an errand was not run.
#[derive(Debug, thiserror::Error)]
pub enum ErrandError {
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// There is no command.
    #[error("there is no command to run")]
    Nothing,
    /// No cage can be had on this host.
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

impl ErrandError {
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
            Self::Start(StartError::Lacks { .. }) => Some(
                "`--net host` shares the host's network; a cage of its own needs user namespaces".to_owned(),
            ),
            // The rest of it is about switching isolation off, which nobody can here.
            Self::Start(why) => why.hint().lines().next().map(str::to_owned),
            _ => None,
        }
    }
}

/// An errand under way.
#[derive(Debug)]
pub struct Away<'l> {
    /// The child.
    pub running: Running,
    ledger: &'l Ledger,
    decided: Entry,
    began: Instant,
}

impl Away<'_> {
    /// Records how it ended, for a program that ends with it.
    pub fn back(self, status: Status) {
        let Self { running, ledger, decided, began } = self;
        running.leave(|| record_end(ledger, decided, began, status));
    }
}

fn record_end(ledger: &Ledger, decided: Entry, began: Instant, status: Status) {
    let finished = decided.finished(&super::run::told(status), began.elapsed());
    if let Err(why) = ledger.append_and_sync_soon(&[finished]) {
        tracing::error!(target: "ledger", error = %why, "Outcome not recorded");
    }
}

fn not_started<T>(
    ledger: &Ledger,
    decided: Entry,
    began: Instant,
    why: LaunchError,
) -> Result<T, ErrandError> {
    ledger.append(&[decided.finished(&format!("not started: {why}"), began.elapsed())])?;
    Err(why.into())
}

impl Errand<'_> {
    /// Starts the child in its cage, and returns when its program runs.
    pub fn start<'l>(&self, ledger: &'l Ledger) -> Result<Away<'l>, ErrandError> {
        self.on_best(|rung, prepared| self.start_on(rung, prepared, ledger))
    }

    /// Runs the child in its cage to its end, which `stay` waits for without reading or writing anything of the child's.
    pub fn run(
        &self,
        ledger: &Ledger,
        mut stay: impl FnMut(&mut Running) -> Status,
    ) -> Result<Status, ErrandError> {
        self.on_best(|rung, prepared| self.run_on(rung, prepared, ledger, &mut stay))
    }

    /// In a native cage where this host gives it, in whatever else it gives otherwise.
    fn on_best<T>(
        &self,
        mut attempt: impl FnMut(&Backend, &Prepared) -> Result<T, ErrandError>,
    ) -> Result<T, ErrandError> {
        // Never given back: the program ends with its errand, and its child shares this memory as long as neither writes there.
        let prepared = ManuallyDrop::new(self.prepare()?);
        // Trying a native cage first costs nothing where it works; what it cannot hold is not tried.
        let native = Backend::Native.enforced(self.isolation).lacks(&self.isolation.require).is_none();
        if native && self.isolation.backend == BackendChoice::Auto {
            match attempt(&Backend::Native, &prepared) {
                Err(ErrandError::Launch(LaunchError::Isolate(_) | LaunchError::Step { .. })) => {}
                done => return done,
            }
        }
        let rung = select_backend(self.isolation, &prepared.path)?;
        tell_losses(&rung, self.isolation);
        attempt(&rung, &prepared)
    }

    fn prepare(&self) -> Result<Prepared, ErrandError> {
        let path = self.host.iter().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, path)| path.clone()).unwrap_or_default();
        let name = self.command.first().ok_or(ErrandError::Nothing)?;
        let program = launch::find_program(name, &path, self.from)?;
        let user = UserEnvironment::of(self.instance.home(), &self.principal);
        user.prepare().map_err(|errno| unusable(user.path(), errno))?;
        let home = operator_home(&self.host);
        let (work_dir, workspace) = match self.stay {
            Stay::Own => (user.path().join("home"), None),
            Stay::At { path, mode } => {
                (path.to_owned(), Some(WorkspaceMount { path: path.to_owned(), mode }))
            }
        };
        let view = InstancePaths {
            root: self.instance.home().to_owned(),
            workspace,
            user_environment: user.path().to_owned(),
            skills: self.instance.join("skills"),
            protected: self.instance.covered(),
        };
        let source = CommandSource::Operator { program: &program, arguments: self.shown_arguments() };
        let isolation = self.isolation;
        let variables = &self.host;
        let request =
            PlanRequest { isolation, instance: &view, source, work_dir: &work_dir, home: &home, variables };
        let plan = plan(&request, &LiveHost)?;
        if tracing::enabled!(target: "isolation", tracing::Level::INFO) {
            for rule in plan.lines() {
                tracing::info!(target: "isolation", rule, "linux isolation mount plan");
            }
        }
        let mut variables = cage_environment(
            &self.host,
            &user,
            isolation,
            (&home, &LiveHost),
            std::slice::from_ref(&work_dir),
        );
        environment::set_work_dir(&mut variables, &work_dir);
        for (name, value) in self.variables {
            environment::set(&mut variables, name, value.clone());
        }
        let plan = Arc::new(plan);
        Ok(Prepared { path, program, plan, variables, work_dir })
    }

    /// Of a person's command nothing follows: what it may see beyond its directory is said with flags. A server's command
    /// line is written once, for good, and names what the server is for.
    fn shown_arguments(&self) -> &[OsString] {
        match self.principal {
            Principal::Person => &[],
            _ => self.command.get(1..).unwrap_or_default(),
        }
    }

    fn spec(&self, rung: &Backend, prepared: &Prepared) -> Result<LaunchSpec, ErrandError> {
        let cage = Cage::new(Arc::clone(&prepared.plan), rung.clone())?;
        Ok(LaunchSpec {
            program: prepared.program.clone(),
            argv: self.command.to_vec(),
            work_dir: WorkDir::open(&prepared.work_dir)
                .map_err(|errno| unusable(&prepared.work_dir, errno))?,
            environment: prepared.variables.clone(),
            streams: self.streams.clone(),
            deadline: Deadline::None,
            bounds: Bounds::default(),
            principal: self.principal.clone(),
            walls: Walls::Cage(Arc::new(cage)),
        })
    }

    /// Records what is about to happen, and lets it happen.
    fn start_on<'l>(
        &self,
        rung: &Backend,
        prepared: &Prepared,
        ledger: &'l Ledger,
    ) -> Result<Away<'l>, ErrandError> {
        let spec = self.spec(rung, prepared)?;
        let (decided, began) = (self.record(ledger, rung, &prepared.work_dir)?, Instant::now());
        // The record is there; that it reaches the disk is waited for while the cage is built. A disk that fails is told by
        // the next record.
        match launch::start_while(spec, || drop(ledger.sync())) {
            Ok(running) => Ok(Away { running, ledger, decided, began }),
            Err(why) => not_started(ledger, decided, began, why),
        }
    }

    /// The same to the end, and records that too.
    fn run_on(
        &self,
        rung: &Backend,
        prepared: &Prepared,
        ledger: &Ledger,
        stay: &mut impl FnMut(&mut Running) -> Status,
    ) -> Result<Status, ErrandError> {
        let spec = self.spec(rung, prepared)?;
        let (decided, began) = (self.record(ledger, rung, &prepared.work_dir)?, Instant::now());
        let last = |status| record_end(ledger, decided.clone(), began, status);
        match launch::stay_with(spec, || drop(ledger.sync()), stay, last) {
            Ok(status) => Ok(status),
            Err(why) => not_started(ledger, decided, began, why),
        }
    }

    fn record(&self, ledger: &Ledger, rung: &Backend, work_dir: &Path) -> Result<Entry, ErrandError> {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        let intent = format!("run in {}: {}", work_dir.display(), words.join(" "));
        let verdict =
            Verdict::Allow(Grant { zone: Zone::Workspace, rule: "the operator's own command".to_owned() });
        let enforced = rung.enforced(self.isolation);
        let layers = enforced.layers().map(|(_, name, grade)| format!("{name} {grade}"));
        let decided = Entry::decided(&self.subject, self.tool, &intent, &verdict).enforcing(layers);
        ledger.append_and_sync_soon(std::slice::from_ref(&decided))?;
        Ok(decided)
    }
}

/// What does not depend on the rung.
struct Prepared {
    path: OsString,
    program: PathBuf,
    plan: Arc<Plan>,
    variables: Variables,
    work_dir: PathBuf,
}

fn unusable(path: &Path, errno: rustix::io::Errno) -> ErrandError {
    ErrandError::Directory { path: path.to_owned(), source: errno.into() }
}
