//! Turns a [`LaunchSpec`] into a running child.

use crate::launch::error::{LaunchError, ProgramError};
use crate::launch::linux::cgroup::{Cgroup, TreeLimits};
use crate::launch::linux::child_setup::ChildSetup;
use crate::launch::linux::child_streams::{self, ChildStreams, ChildTerminal};
use crate::launch::linux::reap::spawn_supervisor;
use crate::launch::linux::running::Running;
use crate::launch::linux::supervisor_handle::{OPENED, SupervisorHandle};
use crate::launch::linux::tmp_usage::TmpUsage;
use crate::launch::linux::watch::watch;
use crate::launch::spec::{Deadline, LaunchSpec};
use crate::os_file::open_by_proc;
use picoclaw_sys::linux::{ChildSpec, Exec, Report, Step, SupervisionMode};
use rustix::fs::{Access, CWD, FileType, Mode, OFlags, access, fstat, openat};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest first line of a script that the kernel reads.
const MAX_INTERPRETER_BYTES: u64 = 256;

/// Starts a child, and returns when its program runs. After an error no process of it is left.
pub fn start(spec: LaunchSpec) -> Result<Running, LaunchError> {
    let starting = StartingChild::new(spec)?;
    match starting.running.supervisor.first_report() {
        Some(Report::Started) => {
            if let Some(tmp) = starting.running.supervisor.shared_tmp() {
                tmp.find(starting.running.pid());
            }
            Ok(starting.running)
        }
        report => Err(starting.failure(report)),
    }
}

/// A child whose program may not run yet.
pub(super) struct StartingChild {
    pub(super) running: Running,
    program: PathBuf,
    /// For naming the step that failed.
    child_spec: Arc<ChildSpec>,
}

impl StartingChild {
    /// Starts a child without waiting for its program.
    pub(super) fn new(mut spec: LaunchSpec) -> Result<Self, LaunchError> {
        let (parent_streams, child_streams) =
            child_streams::open(spec.streams.clone(), spec.setup.ruleset.as_ref(), &spec.setup.read_only)?;
        let ready_file = spec.setup.ready_file.take();
        let limits = spec.setup.tree_limits;
        let cgroup = (limits != TreeLimits::default()).then(|| Cgroup::new(limits)).flatten();
        let joins = cgroup.iter().flat_map(Cgroup::procs).map(Step::JoinCgroup);
        spec.setup.command.splice(0..0, joins);
        let child_spec = Arc::new(child_spec(&mut spec, &child_streams)?);
        let spawned =
            spawn_supervisor(&child_spec).map_err(|error| LaunchError::step("start a process", error))?;
        let tmp = (!spec.setup.private_dirs.is_empty()).then(TmpUsage::default);
        let supervisor = Arc::new(SupervisorHandle::new(spawned, ready_file, limits, cgroup, tmp));
        let program = spec.program.clone();
        let running = Running::new(Arc::clone(&supervisor), parent_streams, &spec);
        watch(&supervisor, limits, std::mem::take(&mut spec.setup.private_dirs))
            .map_err(|error| LaunchError::step("watch its limits", error))?;
        Ok(Self { running, program, child_spec })
    }

    /// Whether the program ran, for a child that has ended.
    pub(super) fn check(&self) -> Result<(), LaunchError> {
        match self.running.supervisor.first_report() {
            report @ Some(
                Report::SetupFailed(..)
                | Report::CommandFailed(..)
                | Report::ExecFailed(_)
                | Report::InterpreterMissing,
            ) => Err(self.failure(report)),
            // Without a report the supervisor was killed, and the status says so.
            _ => Ok(()),
        }
    }

    fn failure(&self, report: Option<Report>) -> LaunchError {
        self.running.supervisor.wait_until(None);
        let failed = |step: Option<&Step>, errno| {
            let step = step.map_or_else(|| "start the command".to_owned(), Step::to_string);
            LaunchError::step(step, io::Error::from_raw_os_error(errno))
        };
        match report {
            Some(Report::SetupFailed(at, errno)) => failed(self.child_spec.setup.get(at), errno),
            Some(Report::CommandFailed(at, errno)) => failed(self.child_spec.command.get(at), errno),
            Some(Report::ExecFailed(libc::ENOENT)) if access(&self.program, Access::EXISTS).is_ok() => {
                ProgramError::Hidden { program: self.program.clone() }.into()
            }
            Some(Report::ExecFailed(errno)) => {
                ProgramError::from_errno(self.program.clone(), io::Error::from_raw_os_error(errno)).into()
            }
            Some(Report::InterpreterMissing) => {
                let program = self.program.clone();
                match interpreter(&program) {
                    Some(interpreter) => ProgramError::Interpreter { program, interpreter }.into(),
                    None => ProgramError::Loader { program }.into(),
                }
            }
            _ => LaunchError::Vanished,
        }
    }
}

/// The interpreter that a script names in its first line. The child may have put anything in its
/// place, such as a FIFO or a link to a device: only a regular file is opened.
fn interpreter(program: &Path) -> Option<String> {
    let found = openat(CWD, program, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    if FileType::from_raw_mode(fstat(&found).ok()?.st_mode) != FileType::RegularFile {
        return None;
    }
    let file = open_by_proc(found.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC).ok()?;
    let mut start = Vec::new();
    File::from(file).take(MAX_INTERPRETER_BYTES).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    line.split([' ', '\t']).find(|word| !word.is_empty()).map(str::to_owned)
}

/// The whole child as steps. Descriptors in them belong to `spec` and `streams`.
fn child_spec(spec: &mut LaunchSpec, streams: &ChildStreams) -> Result<ChildSpec, LaunchError> {
    let (program, argv, environment) = command_line(spec);
    let exec = Exec {
        path: c_string(program.as_os_str(), "the program's name")?,
        argv: argv.iter().map(|text| c_string(text, "an argument")).collect::<Result<_, _>>()?,
        envp: environment_strings(&environment)?,
    };
    let (mut setup, mut command) = terminal_steps(streams.terminal);
    command.extend(streams.steps());
    command.extend(spec.setup.work_dir.as_ref().map(|directory| Step::Fchdir(directory.as_raw_fd())));
    command.append(&mut spec.setup.command);
    setup.append(&mut spec.setup.setup);
    for step in &mut setup {
        if let Step::Console(_, terminal) = step {
            *terminal = streams.terminal_path();
        }
    }
    let ChildSetup { namespaces, mode, system_v_limit, .. } = spec.setup;
    let is_scoped = spec.setup.scope.is_some();
    let deadline = match spec.deadline {
        Deadline::After(time) => Some(time),
        Deadline::None => None,
    };
    let network = spec.setup.network.as_ref().map(|network| Arc::clone(&network.0));
    // Elsewhere the supervisor is in none of the command's namespaces.
    let opened =
        if mode == SupervisionMode::Namespace { OPENED.map(Into::into).to_vec() } else { Vec::new() };
    Ok(ChildSpec {
        namespaces,
        network,
        mode,
        is_scoped,
        setup,
        opened,
        command,
        exec,
        system_v_limit,
        deadline,
    })
}

/// With a terminal the command gets a process group of its own in the supervisor's session. The
/// group has a parent in its session, so a terminal's suspend key can stop it; and since the
/// command does not lead the session, it cannot acquire another terminal by opening one. Without a
/// terminal it gets a session of its own: the scheduler divides processor time among sessions
/// first, so a busy tree does not keep its supervisor from running.
fn terminal_steps(terminal: Option<ChildTerminal>) -> (Vec<Step>, Vec<Step>) {
    let Some(ChildTerminal { fd, starts_in_background }) = terminal else {
        return (Vec::new(), vec![Step::NewSession]);
    };
    let mut command = vec![Step::NewProcessGroup];
    if !starts_in_background {
        command.push(Step::ForegroundGroup(fd));
    }
    (vec![Step::ControllingTerminal(fd)], command)
}

type Environment = Vec<(OsString, OsString)>;

/// The program to execute, its arguments and its environment: those of the command, or of
/// bubblewrap, which confines and runs it. What a dynamic loader obeys in the environment is for
/// the command alone: in that of bubblewrap it could name a library that an earlier command wrote.
fn command_line(spec: &LaunchSpec) -> (PathBuf, Vec<OsString>, Environment) {
    let environment = spec.environment.clone();
    let Some((builder, arguments)) = &spec.setup.builder else {
        return (spec.program.clone(), spec.argv.clone(), environment);
    };
    let (inside, outside): (Environment, Environment) =
        environment.into_iter().partition(|(name, _)| is_for_loader(name));
    let mut argv = vec![builder.clone().into_os_string()];
    argv.extend(inside.into_iter().flat_map(|(name, value)| ["--setenv".into(), name, value]));
    argv.extend(arguments.iter().cloned());
    argv.push(spec.program.clone().into_os_string());
    argv.extend(spec.argv.iter().skip(1).cloned());
    (builder.clone(), argv, outside)
}

fn is_for_loader(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES"
}

fn environment_strings(environment: &[(OsString, OsString)]) -> Result<Vec<CString>, LaunchError> {
    let strings = environment.iter().map(|(name, value)| {
        let mut text = name.clone();
        text.push("=");
        text.push(value);
        c_string(&text, "the environment")
    });
    strings.collect()
}

fn c_string(text: &OsStr, what: &'static str) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| LaunchError::Nul { what })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes files by path")]
mod tests {
    use super::*;
    use rustix::fs::mknodat;

    #[test]
    fn the_interpreter_of_a_regular_file_alone_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#! /no/such/one -x\nrest").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&script, &link).unwrap();
        for path in [&script, &link] {
            assert_eq!(interpreter(path).as_deref(), Some("/no/such/one"));
        }
        let fifo = dir.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(interpreter(&fifo), None, "a FIFO is not waited for");
        assert_eq!(interpreter(Path::new("/dev/zero")), None, "a device is not opened");
        assert_eq!(interpreter(dir.path()), None);
    }
}
