//! From a description to a running child.
//!
//! Invariant: when this fails, no process of the child is left.

use crate::isolate::{ChildSetup, WorkDirEntry};
use crate::launch::error::{LaunchError, ProgramError};
use crate::launch::handle::Handle;
use crate::launch::live;
use crate::launch::running::Running;
use crate::launch::spec::{LaunchSpec, Walls};
use crate::launch::streams::{self, Theirs};
use picoclaw_sys::linux::landlock::Ruleset;
use picoclaw_sys::linux::{ChildSpec, Exec, Report, Step};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Starts the child that `spec` describes, and returns when its program runs.
pub fn start(spec: LaunchSpec) -> Result<Running, LaunchError> {
    let begun = begin(spec)?;
    let report = begun.running.handle.first_report();
    if report == Some(Report::Started) { Ok(begun.running) } else { Err(begun.failure(report)) }
}

/// A child on its way: its program may not run yet.
pub(super) struct Begun {
    pub(super) running: Running,
    program: PathBuf,
}

/// Starts the child without waiting for its program: a caller that stays to the end learns of a failure there.
pub(super) fn begin(spec: LaunchSpec) -> Result<Begun, LaunchError> {
    let (ours, theirs) =
        streams::open(spec.streams.clone()).map_err(|errno| LaunchError::step("open its streams", errno))?;
    let mut dress = match &spec.walls {
        Walls::Open => ChildSetup::unconfined(),
        Walls::Fence(fence) => fence.setup()?,
        Walls::Cage(cage) => cage.setup(&spec.work_dir)?,
    };
    if let Some(rules) = &dress.ruleset {
        theirs.open_by_name(rules);
    }
    let stage = dress.stage.take();
    let (script, _held) = script(&spec, &theirs, dress)?;
    let script = Arc::new(script);
    let spawned = live::launch(&script).map_err(|error| LaunchError::step("start a process", error))?;
    let (program, handle) = (spec.program.clone(), Handle::new(spawned, stage));
    Ok(Begun { running: Running::new(handle, ours, spec, script), program })
}

impl Begun {
    /// Whether the program ran, of a child that has ended.
    pub(super) fn check(&self) -> Result<(), LaunchError> {
        match self.running.handle.first_report() {
            report @ Some(Report::SetupFailed(..) | Report::CommandFailed(..) | Report::ExecFailed(_)) => {
                Err(self.failure(report))
            }
            // Without a report somebody has killed its keeper, and the status says so.
            _ => Ok(()),
        }
    }

    fn failure(&self, report: Option<Report>) -> LaunchError {
        self.running.handle.wait_until(None);
        failure(report, self.running.script(), &self.program)
    }
}

/// What steps name by number.
type Held = (Option<Ruleset>, Option<OwnedFd>);

/// The whole child as steps, and what they name by number.
fn script(spec: &LaunchSpec, theirs: &Theirs, dress: ChildSetup) -> Result<(ChildSpec, Held), LaunchError> {
    let (program, argv) = command_line(spec, &dress);
    let program = c_string(program.as_os_str(), "the program's name")?;
    let argv = argv.iter().map(|text| c_string(text, "an argument")).collect::<Result<_, _>>()?;
    let mut envp = Vec::with_capacity(spec.environment.len());
    for (name, value) in &spec.environment {
        let mut text = name.clone();
        text.push("=");
        text.push(value);
        envp.push(c_string(&text, "the environment")?);
    }
    let exec = Exec { path: program, argv, envp };
    let (mut setup, mut command) = session(theirs.terminal);
    command.extend((0..).zip(theirs.numbers).map(|(to, from)| Step::DupFd(from, to)));
    if dress.entry == WorkDirEntry::Handle {
        command.push(Step::Fchdir(spec.work_dir.handle.as_raw_fd()));
    }
    command.extend(dress.command);
    setup.extend(dress.setup);
    let ChildSetup { namespaces, mode, memory_limit, .. } = dress;
    Ok((ChildSpec { namespaces, mode, setup, command, exec, memory_limit }, (dress.ruleset, dress.held)))
}

/// The command leads a group of its own, in the session that its keeper leads. A group that has nobody of its session
/// above it is never stopped by a terminal's suspend key, and could not be continued; and whoever does not lead the session
/// cannot take a terminal for its own by opening it. A second new session would also be a second group for the scheduler,
/// and on a busy machine a second wait.
fn session(terminal: Option<RawFd>) -> (Vec<Step>, Vec<Step>) {
    match terminal {
        None => (Vec::new(), vec![Step::NewProcessGroup]),
        Some(fd) => {
            (vec![Step::ControllingTerminal(fd)], vec![Step::NewProcessGroup, Step::ForegroundGroup(fd)])
        }
    }
}

/// The program to execute and its arguments: the command itself, or what builds its walls and then runs it.
fn command_line(spec: &LaunchSpec, dress: &ChildSetup) -> (PathBuf, Vec<OsString>) {
    let Some((builder, arguments)) = &dress.builder else { return (spec.program.clone(), spec.argv.clone()) };
    let own = [builder.clone().into_os_string()].into_iter().chain(arguments.iter().cloned());
    let command =
        [spec.program.clone().into_os_string()].into_iter().chain(spec.argv.iter().skip(1).cloned());
    (builder.clone(), own.chain(command).collect())
}

fn c_string(text: &OsStr, what: &'static str) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| LaunchError::Nul { what })
}

fn failure(report: Option<Report>, script: &ChildSpec, program: &Path) -> LaunchError {
    let named = |step: Option<&Step>| step.map_or_else(|| "start the command".to_owned(), Step::to_string);
    match report {
        Some(Report::SetupFailed(at, errno)) => {
            LaunchError::step(named(script.setup.get(at)), io::Error::from_raw_os_error(errno))
        }
        Some(Report::CommandFailed(at, errno)) => {
            LaunchError::step(named(script.command.get(at)), io::Error::from_raw_os_error(errno))
        }
        Some(Report::ExecFailed(errno)) => {
            ProgramError::from_errno(program.to_owned(), io::Error::from_raw_os_error(errno)).into()
        }
        _ => LaunchError::Vanished,
    }
}
