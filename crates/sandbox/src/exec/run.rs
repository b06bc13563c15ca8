//! Runs a command under its permit: to its end, or in the background. Its outcome is recorded when
//! it has ended.

use super::Exec;
use super::agent_env::AgentEnv;
use super::exec_env::ExecEnv;
use super::session::{CommandReport, Program, Session};
use crate::broker::CommandNetwork;
use crate::launch::{
    self, Background, CancelToken, Deadline, Finished, LaunchError, LaunchSpec, Output, OutputLimit, Stdin,
    Streams, WindowSize, WorkDir,
};
use crate::permit::{OutcomeGuard, Permit};
use crate::protect::Watch;
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
    #[error("the configuration has no agent `{0}`")]
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
    /// The network of the owner's background commands, if there are any and they have one of their
    /// own.
    pub network: Option<&'o CommandNetwork>,
}

/// Runs a command to its end, to its deadline, or to its cancellation; `watch` sees its output as
/// it comes.
pub fn run(
    permit: Permit<Exec>,
    owner: CommandOwner<'_>,
    exec_env: &ExecEnv,
    deadline: Duration,
    cancel: &CancelToken,
    watch: &dyn Fn(&[u8]),
) -> Result<(Finished, CommandReport), ExecError> {
    let (exec, outcome) = permit.spend();
    let (deadline, output_limit) = (Deadline::After(deadline), OUTPUT_RETAINED);
    let ended = spec(&exec, owner.agent, exec_env).and_then(|(spec, protected)| {
        let mut spec = LaunchSpec { deadline, output_limit, ..spec };
        let env = agent_env(owner.agent, exec_env)?;
        let network = match (env.confined.hosts(), owner.network) {
            _ if !spec.setup.has_new_network() => None,
            (_, Some(shared)) => Some(shared.clone()),
            (Some(_), None) => Some(new_network(env, &outcome)?),
            (None, None) => None,
        };
        if let Some(network) = &network {
            network.join(&mut spec.setup);
        }
        let finished = launch::run_with_output(spec, cancel, watch)?;
        let missed = network.map(|network| network.take_report()).unwrap_or_default();
        Ok((finished, protected, missed))
    });
    match ended {
        Ok((finished, protected, network)) => {
            let protected = protected.settle(outcome, finished.status);
            Ok((finished, CommandReport { protected, network }))
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
        let env = agent_env(owner.agent, exec_env)?;
        let network = if spec.setup.has_new_network() { shared_network(owner, env, &outcome)? } else { None };
        if let Some(network) = &network {
            network.join(&mut spec.setup);
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

/// The network of the owner's other background commands, or a new one. Where no closed one can be
/// made, the command gets one of its own, which holds as much.
fn shared_network(
    owner: CommandOwner<'_>,
    env: &AgentEnv,
    outcome: &OutcomeGuard,
) -> Result<Option<CommandNetwork>, LaunchError> {
    if let Some(shared) = owner.network {
        return Ok(Some(shared.clone()));
    }
    match new_network(env, outcome) {
        Err(why) if env.confined.hosts().is_none() => {
            tracing::warn!(target: "isolation", error = %why, "Later commands will not reach this one by the loopback");
            Ok(None)
        }
        made => made.map(Some),
    }
}

fn new_network(env: &AgentEnv, outcome: &OutcomeGuard) -> Result<CommandNetwork, LaunchError> {
    CommandNetwork::new(env.confined.hosts(), outcome)
        .map_err(|why| LaunchError::step("make its network", why))
}

fn agent_env<'e>(agent: &AgentId, exec_env: &'e ExecEnv) -> Result<&'e AgentEnv, ExecError> {
    exec_env.agent(agent).ok_or_else(|| ExecError::NoAgent(agent.clone()))
}

fn spec(exec: &Exec, agent: &AgentId, exec_env: &ExecEnv) -> Result<(LaunchSpec, Watch), ExecError> {
    let env = agent_env(agent, exec_env)?;
    let path = exec.intent.cwd.asked.as_path().to_owned();
    let work_dir = WorkDir { handle: exec.open_work_dir()?, path };
    let mut argv: Vec<OsString> = exec_env.arguments.iter().map(OsString::from).collect();
    argv.push(OsString::from(&exec.intent.command));
    Ok(env.confined.spec(exec_env.program.clone(), argv, work_dir, exec_env.principal(agent))?)
}
