//! `picoclaw stop`: ends every program that works for the instance, and with it its turns and children.
//!
//! Invariant: only registered processes are signalled; one that cannot be reached is named.

use crate::arguments::Command;
use crate::commands::cron::CronCommand;
use crate::commands::mcp::McpCommand;
use crate::exit::Exit;
use crate::print;
use crate::settings::Loaded;
use anyhow::Result;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::presence::{GatewayLock, ProcessRegistry, Registration, Role, RunningProcess, Stopped};
use std::time::{Duration, Instant};

/// How long a program may take to end by itself.
const GRACE: Duration = Duration::from_secs(15);

/// Registers this program, where it is one that can be stopped.
pub(crate) fn register(command: &Command, loaded: &Loaded) -> Option<Registration> {
    let role = match command {
        Command::Agent(_) => Role::Agent,
        Command::Tool(_) => Role::Tool,
        Command::Run(_) | Command::Mcp(McpCommand::Wrap(_)) => Role::Run,
        Command::Mcp(McpCommand::Serve(_)) => Role::Server,
        Command::Cron(CronCommand::Run { .. }) => Role::Job,
        _ => return None,
    };
    let registered = ProcessRegistry::open(&loaded.home).and_then(|registry| registry.register(role));
    registered
        .inspect_err(
            |why| tracing::warn!(target: "instance", error = %why, "`picoclaw stop` will not find this"),
        )
        .ok()
}

/// Stops them all.
pub(crate) fn run(loaded: &Loaded) -> Result<Exit> {
    let processes = match Instance::exists(&loaded.home) {
        true => ProcessRegistry::open(&loaded.home)?.others()?,
        false => Vec::new(),
    };
    let knows_gateway = processes.iter().any(|process| process.role == Role::Gateway);
    if processes.is_empty() && !GatewayLock::is_running(&loaded.home) {
        print::line("nothing is running")?;
        return Ok(Exit::Done);
    }
    // All get their signal before the first is waited for: together they take as long as the slowest.
    let told: Vec<_> = processes.iter().map(RunningProcess::terminate).collect();
    let deadline = Instant::now() + GRACE;
    let mut exit = Exit::Done;
    for (process, told) in processes.into_iter().zip(told) {
        let (who, pid) = (process.role.as_str(), process.pid);
        match told.map_or_else(|cannot| cannot, |()| process.wait_or_kill(deadline)) {
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
    if !knows_gateway && GatewayLock::is_running(&loaded.home) {
        print::note("✗ somebody holds the gateway's lock and is not on the roll");
        exit = Exit::Refused;
    }
    Ok(exit)
}
