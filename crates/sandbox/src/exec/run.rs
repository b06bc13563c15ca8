//! Runs a command under its permit: to its end, or in the background. Its outcome is recorded when
//! it has ended.

use super::Exec;
use super::exec_env::ExecEnv;
use super::session::{Program, Session};
use crate::launch::{
    self, Background, CancelToken, ClosedNetwork, Deadline, Finished, LaunchError, LaunchSpec, Output,
    OutputLimit, Stdin, Streams, WindowSize, WorkDir,
};
use crate::permit::Permit;
use crate::protect::{Report, Watch};
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
    /// The configuration has no such agent.
    #[error("there is no place to run commands for agent `{0}`")]
    NoAgent(AgentId),
    /// It could not be started.
    #[error("failed to start command: {0}")]
    Launch(LaunchError),
    /// There is no pseudo-terminal for it.
    #[error(transparent)]
    NoPty(LaunchError),
}

impl From<LaunchError> for ExecError {
    fn from(why: LaunchError) -> Self {
        match why {
            LaunchError::NoPty => Self::NoPty(why),
            why => Self::Launch(why),
        }
    }
}

/// How much of each output stream a result keeps.
const OUTPUT_RETAINED: OutputLimit = OutputLimit { head: 16 << 10, tail: 16 << 10 };

/// Whose commands these are, and the network that they share.
#[derive(Debug, Clone, Copy)]
pub struct CommandOwner<'o> {
    /// The agent.
    pub agent: &'o AgentId,
    /// The network of the owner's background commands, if there are any and their network is
    /// closed.
    pub network: Option<&'o ClosedNetwork>,
}

/// Runs a command to its end, to its deadline, or to its cancellation; `watch` sees its output as
/// it comes. The report is about the protected files of the workspace.
pub fn run(
    permit: Permit<Exec>,
    owner: CommandOwner<'_>,
    exec_env: &ExecEnv,
    deadline: Duration,
    cancel: &CancelToken,
    watch: &dyn Fn(&[u8]),
) -> Result<(Finished, Report), ExecError> {
    let (exec, outcome) = permit.spend();
    let (deadline, output_limit) = (Deadline::After(deadline), OUTPUT_RETAINED);
    let ended = spec(&exec, owner.agent, exec_env).and_then(|(spec, protected)| {
        let mut spec = LaunchSpec { deadline, output_limit, ..spec };
        if let Some(network) = owner.network.filter(|_| spec.setup.has_new_network()) {
            spec.setup.join_network(network);
        }
        Ok((launch::run_with_output(spec, cancel, watch)?, protected))
    });
    match ended {
        Ok((finished, protected)) => {
            let report = protected.settle(outcome, finished.status);
            Ok((finished, report))
        }
        Err(why) => {
            outcome.settle_as(&why.to_string());
            Err(why)
        }
    }
}

/// Starts a command in the background; the session settles the permit when the command has ended.
/// Where its network is closed, the owner's later commands share it.
pub fn start(
    permit: Permit<Exec>,
    owner: CommandOwner<'_>,
    exec_env: &ExecEnv,
    terminal: Option<WindowSize>,
    lifetime: Duration,
) -> Result<Session, ExecError> {
    let (exec, outcome) = permit.spend();
    let streams = match terminal {
        Some(size) => Streams::Pty(size),
        None => Streams::Plain { stdin: Stdin::Pipe, output: Output::Merged },
    };
    let (deadline, output_limit) = (Deadline::After(lifetime), Background::OUTPUT_LIMIT);
    let program = Program::of(&exec.intent.judgement);
    let started = spec(&exec, owner.agent, exec_env).and_then(|(mut spec, protected)| {
        let network = if spec.setup.has_new_network() { shared_network(owner) } else { None };
        if let Some(network) = &network {
            spec.setup.join_network(network);
        }
        let background = Background::start(LaunchSpec { streams, deadline, output_limit, ..spec })?;
        Ok((background, network, protected))
    });
    match started {
        Ok((background, network, protected)) => {
            let end = (outcome, protected);
            Ok(Session::new(background, network, end, exec.intent.command, program))
        }
        Err(why) => {
            outcome.settle_as(&why.to_string());
            Err(why)
        }
    }
}

/// The network of the owner's other background commands, or a new one. Where none can be made, the
/// command gets one of its own, which holds as much.
fn shared_network(owner: CommandOwner<'_>) -> Option<ClosedNetwork> {
    let made = || {
        ClosedNetwork::new().inspect_err(|why| {
        tracing::warn!(target: "isolation", error = %why, "Later commands will not reach this one by the loopback");
    })
    };
    owner.network.cloned().or_else(|| made().ok())
}

fn spec(exec: &Exec, agent: &AgentId, exec_env: &ExecEnv) -> Result<(LaunchSpec, Watch), ExecError> {
    let env = exec_env.agent(agent).ok_or_else(|| ExecError::NoAgent(agent.clone()))?;
    let path = exec.intent.cwd.asked.as_path().to_owned();
    let work_dir = WorkDir { handle: exec.open_work_dir()?, path };
    let mut argv: Vec<OsString> = exec_env.arguments.iter().map(OsString::from).collect();
    argv.push(OsString::from(&exec.intent.command));
    Ok(env.confined.spec(exec_env.program.clone(), argv, work_dir, exec_env.principal(agent))?)
}
