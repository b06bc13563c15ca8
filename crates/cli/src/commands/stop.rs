//! `picoclaw stop`: ends every process that works for the instance, with its turns and children.
//!
//! Only registered processes are signalled; those that cannot be reached are named.

use crate::arguments::Command;
use crate::commands::cron::CronCommand;
use crate::commands::mcp::McpCommand;
use crate::exit::Exit;
use crate::print;
use crate::settings::Settings;
use anyhow::Result;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::presence::{Member, Presence, Role, Roll, Signed, Stopped};
use std::time::{Duration, Instant};

/// How long a process may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Registers this process, if it can be stopped.
pub(crate) fn register_run(command: &Command, settings: &Settings) -> Option<Signed> {
    let role = match command {
        Command::Agent(_) => Role::Agent,
        Command::Tool(_) => Role::Tool,
        Command::Run(_) | Command::Mcp(McpCommand::Wrap(_)) => Role::Errand,
        Command::Mcp(McpCommand::Serve(_)) => Role::Server,
        Command::Cron(CronCommand::Run { .. }) => Role::Job,
        _ => return None,
    };
    let signed = Roll::open(&settings.home).and_then(|roll| roll.sign(role));
    signed
        .inspect_err(
            |why| tracing::warn!(target: "instance", error = %why, "`picoclaw stop` will not find this"),
        )
        .ok()
}

/// Stops every registered process.
pub(crate) fn run(settings: &Settings) -> Result<Exit> {
    let members = match Instance::exists(&settings.home) {
        true => Roll::open(&settings.home)?.others()?,
        false => Vec::new(),
    };
    let knows_gateway = members.iter().any(|member| member.role == Role::Gateway);
    if members.is_empty() && !Presence::is_running(&settings.home) {
        print::line("nothing is running")?;
        return Ok(Exit::Done);
    }
    // All are signalled before any is waited for, so that it takes as long as the slowest.
    let told: Vec<_> = members.iter().map(Member::tell).collect();
    let deadline = Instant::now() + STOP_TIMEOUT;
    let mut exit = Exit::Done;
    for (member, told) in members.into_iter().zip(told) {
        let (who, pid) = (member.role.as_str(), member.pid);
        match told.map_or_else(|cannot| cannot, |()| member.stop(deadline)) {
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
    if !knows_gateway && Presence::is_running(&settings.home) {
        print::note("✗ an unregistered process holds the gateway's lock");
        exit = Exit::Refused;
    }
    Ok(exit)
}
