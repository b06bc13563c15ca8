//! `picoclaw stop`: ends every process that works for the instance, with its turns and children.
//!
//! Only registered processes are signalled; those that cannot be reached are named.

use crate::arguments::Command;
use crate::commands::cron::CronCommand;
use crate::commands::mcp::McpCommand;
use crate::exit::Exit;
use crate::print;
use crate::progress::Progress;
use crate::settings::Settings;
use anyhow::Result;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::presence::{GatewayLock, ProcessRegistry, Registration, Role, RunningProcess, Stopped};
use std::time::{Duration, Instant};

/// How long a process may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Registers this process, if it can be stopped.
pub(crate) fn register_run(command: &Command, settings: &Settings) -> Option<Registration> {
    let role = match command {
        Command::Agent(_) => Role::Agent,
        Command::Tool(_) => Role::Tool,
        Command::Run(_) | Command::Mcp(McpCommand::Wrap(_)) => Role::Run,
        Command::Mcp(McpCommand::Serve(_)) => Role::Server,
        Command::Cron(CronCommand::Run { .. }) => Role::Job,
        _ => return None,
    };
    let registration = ProcessRegistry::open(&settings.home).and_then(|registry| registry.register(role));
    registration
        .inspect_err(
            |why| tracing::warn!(target: "instance", error = %why, "`picoclaw stop` will not find this"),
        )
        .ok()
}

/// Stops every registered process.
pub(crate) fn run(settings: &Settings) -> Result<Exit> {
    let processes = match Instance::exists(&settings.home) {
        true => ProcessRegistry::open(&settings.home)?.others()?,
        false => Vec::new(),
    };
    let knows_gateway = processes.iter().any(|process| process.role == Role::Gateway);
    if processes.is_empty() && !GatewayLock::is_running(&settings.home) {
        print::line("nothing is running")?;
        return Ok(Exit::Done);
    }
    // All are signalled before any is waited for, so that it takes as long as the slowest.
    let told: Vec<_> = processes.iter().map(RunningProcess::terminate).collect();
    let deadline = Instant::now() + STOP_TIMEOUT;
    let mut exit = Exit::Done;
    for (process, told) in processes.into_iter().zip(told) {
        let (who, pid) = (process.role.as_str(), process.pid);
        let progress = Progress::of(&format!("waiting for {who} (PID: {pid}) to end"));
        let stopped = told.map_or_else(|cannot| cannot, |()| process.wait_or_kill(deadline));
        drop(progress);
        match stopped {
            Stopped::Ended => print::line(&format!("✓ Stopped {who} (PID: {pid})"))?,
            Stopped::Killed => {
                print::line(&format!("✓ Killed {who} (PID: {pid}), which did not end by itself"))?
            }
            Stopped::OutOfReach => {
                print::note(&format!("✗ {who} (PID: {pid}) runs in another pid namespace; stop it there"));
                exit = Exit::Refused;
            }
            Stopped::NotAllowed => {
                print::note(&format!("✗ {who} (PID: {pid}) is another user's"));
                exit = Exit::Refused;
            }
        }
    }
    if !knows_gateway && GatewayLock::is_running(&settings.home) {
        print::note("✗ an unregistered process holds the gateway's lock");
        exit = Exit::Refused;
    }
    Ok(exit)
}
