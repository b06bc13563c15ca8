//! Running a command: to its end, or into the background.
//!
//! Invariant: one permit, one child; how it went is recorded when it is over.

use super::kind::Exec;
use super::session::{Program, Session};
use super::workshop::Workshop;
use crate::launch::{
    self, Background, CancelToken, Deadline, Finished, LaunchError, LaunchSpec, Output, OutputLimit,
    Principal, Stdin, Streams, WindowSize, WorkDir,
};
use crate::permit::Permit;
use crate::root::RootError;
use picoclaw_policy::AgentId;
use std::ffi::OsString;
use std::time::Duration;

/// Why a command that was allowed did not run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// Its directory cannot be entered.
    #[error(transparent)]
    WorkDir(#[from] RootError),
    /// The configuration knows no such agent.
    #[error("there is no place to run commands for agent `{0}`")]
    NoQuarters(AgentId),
    /// It could not be started.
    #[error("failed to start command: {0}")]
    Launch(#[from] LaunchError),
}

/// Output of one stream that an answer keeps: the beginning and the end.
const KEPT: OutputLimit = OutputLimit { head: 16 << 10, tail: 16 << 10 };

/// Runs a command to its end, to its deadline, or until `halt` is raised; `watch` sees its output as it comes.
pub fn run(
    permit: Permit<Exec>,
    agent: &AgentId,
    shop: &Workshop,
    deadline: Duration,
    halt: &CancelToken,
    watch: &dyn Fn(&[u8]),
) -> Result<Finished, ExecError> {
    let (exec, settling) = permit.spend();
    let streams = Streams::Plain { stdin: Stdin::Null, output: Output::Pipes };
    let outcome = spec(&exec, agent, shop, streams, Deadline::After(deadline), KEPT)
        .and_then(|spec| launch::run_with_output(spec, halt, watch).map_err(ExecError::from));
    match &outcome {
        Ok(finished) => settling.settle_as(&finished.status.outcome_text()),
        Err(why) => settling.settle_as(&why.to_string()),
    }
    outcome
}

/// Starts a command in the background; the session settles the permit when the command is over.
pub fn start(
    permit: Permit<Exec>,
    agent: &AgentId,
    shop: &Workshop,
    terminal: Option<WindowSize>,
    life: Duration,
) -> Result<Session, ExecError> {
    let (exec, settling) = permit.spend();
    let streams = match terminal {
        Some(size) => Streams::Pty(size),
        None => Streams::Plain { stdin: Stdin::Pipe, output: Output::Merged },
    };
    let program = Program::of(&exec.intent.judgement);
    let command = exec.intent.command.clone();
    let started = spec(&exec, agent, shop, streams, Deadline::After(life), Background::OUTPUT_LIMIT)
        .and_then(|spec| Background::start(spec).map_err(ExecError::from));
    match started {
        Ok(background) => Ok(Session::new(background, settling, command, program)),
        Err(why) => {
            settling.settle_as(&why.to_string());
            Err(why)
        }
    }
}

fn spec(
    exec: &Exec,
    agent: &AgentId,
    shop: &Workshop,
    streams: Streams,
    deadline: Deadline,
    output_limit: OutputLimit,
) -> Result<LaunchSpec, ExecError> {
    let quarters = shop.quarters(agent).ok_or_else(|| ExecError::NoQuarters(agent.clone()))?;
    let work_dir = WorkDir { handle: exec.enter()?, path: exec.intent.cwd.asked.as_path().to_owned() };
    let mut argv: Vec<OsString> = shop.arguments.iter().map(OsString::from).collect();
    argv.push(OsString::from(&exec.intent.command));
    let spec =
        quarters.confined.spec(shop.program.clone(), argv, work_dir, Principal::Agent(agent.clone()))?;
    Ok(LaunchSpec { streams, deadline, output_limit, ..spec })
}
