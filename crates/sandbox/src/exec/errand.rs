//! An errand: one command of the operator's own, in a cage.
//!
//! Invariant: always caged, whatever the configuration says about isolation; recorded before it starts and when it ends.

use super::quarters::{cage_environment, operator_home};
use crate::instance::Instance;
use crate::isolate::{
    Author, Cage, InstanceView, IsolateError, LiveHost, PlanError, Request, Rung, StartError,
    UserEnvironment, Workspace, pick, plan,
};
use crate::launch::environment::{self, Variables};
use crate::launch::{
    self, Bounds, Deadline, LaunchError, LaunchSpec, Principal, ProgramError, Running, Status, Streams,
    Walls, WorkDir,
};
use crate::ledger::{Entry, Ledger, LedgerError};
use picoclaw_policy::config::{Backend, ExposeMode, IsolationConfig};
use picoclaw_policy::{Grant, Subject, Verdict, Zone};
use std::ffi::OsString;
use std::io;
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
    /// The directory that is shown read-write, and that the child works in.
    pub workspace: &'e Path,
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
}

/// Why an errand was not run.
#[derive(Debug, thiserror::Error)]
pub enum ErrandError {
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// No cage can be had on this host.
    #[error("{}\nhint: {}", .0, .0.hint())]
    Start(Box<StartError>),
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

impl From<StartError> for ErrandError {
    /// Told whole, with its hint, and so not also as a cause.
    fn from(why: StartError) -> Self {
        Self::Start(Box::new(why))
    }
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
    /// Records how it ended.
    pub fn back(self, status: Status) {
        let finished = self.decided.finished(&super::run::told(status), self.began.elapsed());
        if let Err(why) = self.ledger.append(&[finished]) {
            tracing::error!(target: "ledger", error = %why, "Outcome not recorded");
        }
    }
}

impl Errand<'_> {
    /// Starts the child in its cage: native where this host gives it, whatever else it gives otherwise.
    pub fn start<'l>(&self, ledger: &'l Ledger) -> Result<Away<'l>, ErrandError> {
        let path = self
            .host
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.clone())
            .unwrap_or_default();
        let name = self.command.first().cloned().unwrap_or_default();
        let program = launch::find_program(&name, &path, self.workspace)?;
        let user = UserEnvironment::of(self.instance.home(), &Principal::Person);
        let unusable = |path: &Path, errno: rustix::io::Errno| ErrandError::Directory {
            path: path.to_owned(),
            source: errno.into(),
        };
        user.prepare().map_err(|errno| unusable(user.path(), errno))?;
        let home = operator_home(&self.host);
        let view = InstanceView {
            root: self.instance.home().to_owned(),
            workspace: Some(Workspace { path: self.workspace.to_owned(), mode: ExposeMode::ReadWrite }),
            user_environment: user.path().to_owned(),
            skills: self.instance.join("skills"),
            protected: self.instance.covered(),
        };
        // Of its arguments nothing is shown: what a command may see beyond its directory is said with flags.
        let author = Author::Operator { program: &program, arguments: &[] };
        let request = Request {
            isolation: self.isolation,
            instance: &view,
            author,
            work_dir: self.workspace,
            home: &home,
        };
        let plan = plan(&request, &LiveHost)?;
        for rule in plan.lines() {
            tracing::info!(target: "isolation", rule, "linux isolation mount plan");
        }
        let mut variables =
            cage_environment(&self.host, &user, self.isolation, &home, &[self.workspace.to_owned()]);
        environment::set_work_dir(&mut variables, self.workspace);
        for (name, value) in self.variables {
            environment::set(&mut variables, name, value.clone());
        }

        let first = match self.isolation.backend {
            Backend::Auto => Rung::Native,
            Backend::Native | Backend::Bwrap => pick(self.isolation, &path)?,
        };
        let spec = |rung: &Rung| -> Result<LaunchSpec, ErrandError> {
            let walls = Walls::Cage(Arc::new(Cage::new(plan.clone(), rung.clone())?));
            let work_dir = WorkDir::open(self.workspace).map_err(|errno| unusable(self.workspace, errno))?;
            Ok(LaunchSpec {
                program: program.clone(),
                argv: self.command.to_vec(),
                work_dir,
                environment: variables.clone(),
                streams: self.streams.clone(),
                deadline: Deadline::None,
                bounds: Bounds::default(),
                principal: Principal::Person,
                walls,
            })
        };
        let decided = self.record(ledger, &first)?;
        let began = Instant::now();
        let running = match launch::start(spec(&first)?) {
            Err(LaunchError::Isolate(_) | LaunchError::Step { .. })
                if self.isolation.backend == Backend::Auto =>
            {
                launch::start(spec(&pick(self.isolation, &path)?)?)?
            }
            started => started?,
        };
        Ok(Away { running, ledger, decided, began })
    }

    fn record(&self, ledger: &Ledger, rung: &Rung) -> Result<Entry, ErrandError> {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        let intent = format!("run in {}: {}", self.workspace.display(), words.join(" "));
        let verdict =
            Verdict::Allow(Grant { zone: Zone::Workspace, rule: "the operator's own command".to_owned() });
        let enforced = rung.enforced(self.isolation);
        let layers = enforced.layers().map(|(_, name, grade)| format!("{name} {grade}"));
        let decided = Entry::decided(&self.subject, "run", &intent, &verdict).enforcing(layers);
        ledger.append(std::slice::from_ref(&decided))?;
        Ok(decided)
    }
}
