//! From a description to a running child.
//!
//! Invariant: when this fails, no process of the child is left.

use crate::launch::error::{LaunchError, ProgramError};
use crate::launch::handle::Handle;
use crate::launch::launcher;
use crate::launch::running::Running;
use crate::launch::spec::{LaunchSpec, Walls};
use crate::launch::streams::{self, Theirs};
use picoclaw_sys::linux::{Exec, Keeping, Report, Script, Step};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;

/// Starts the child that `spec` describes, and returns when its program runs.
pub fn start(spec: LaunchSpec) -> Result<Running, LaunchError> {
    let (ours, theirs) =
        streams::open(spec.streams.clone()).map_err(|errno| LaunchError::step("open its streams", errno))?;
    let script = script(&spec, &theirs)?;
    let (spawned, script) =
        launcher::launch(script).map_err(|error| LaunchError::step("start a process", error))?;
    drop(theirs);
    let handle = Handle::new(spawned);
    match handle.first_report() {
        Some(Report::Started) => Ok(Running::new(handle, ours, &spec)),
        report => {
            handle.wait_until(None);
            Err(failure(report, &script, spec))
        }
    }
}

fn script(spec: &LaunchSpec, theirs: &Theirs) -> Result<Script, LaunchError> {
    let program = c_string(spec.program.as_os_str(), "the program's name")?;
    let argv = spec.argv.iter().map(|text| c_string(text, "an argument")).collect::<Result<_, _>>()?;
    let mut envp = Vec::with_capacity(spec.environment.len());
    for (name, value) in &spec.environment {
        let mut text = name.clone();
        text.push("=");
        text.push(value);
        envp.push(c_string(&text, "the environment")?);
    }
    let Walls::Open = spec.walls;
    let mut command = vec![Step::NewSession];
    command.extend(theirs.terminal.map(Step::ControllingTerminal));
    command.extend((0..).zip(theirs.numbers).map(|(to, from)| Step::Descriptor(from, to)));
    command.push(Step::WorkIn(spec.work_dir.handle.as_raw_fd()));
    Ok(Script {
        namespaces: 0,
        keeping: Keeping::Descendants,
        setup: Vec::new(),
        command,
        exec: Exec { path: program, argv, envp },
        memory_watch: 0,
    })
}

fn c_string(text: &OsStr, what: &'static str) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| LaunchError::Nul { what })
}

fn failure(report: Option<Report>, script: &Script, spec: LaunchSpec) -> LaunchError {
    let named = |step: Option<&Step>| step.map_or_else(|| "start the command".to_owned(), Step::to_string);
    match report {
        Some(Report::SetupFailed(at, errno)) => {
            LaunchError::step(named(script.setup.get(at)), io::Error::from_raw_os_error(errno))
        }
        Some(Report::CommandFailed(at, errno)) => {
            LaunchError::step(named(script.command.get(at)), io::Error::from_raw_os_error(errno))
        }
        Some(Report::ExecFailed(errno)) => {
            ProgramError::from_errno(spec.program, io::Error::from_raw_os_error(errno)).into()
        }
        _ => LaunchError::Vanished,
    }
}
