//! `picoclaw mcp test`: starts a server as an agent would, asks for its tools, and ends it.
//!
//! Invariant: the server is caged, recorded and pinned like an agent's.

use super::arguments::TryArguments;
use super::described::{self, fit};
use crate::exit::{self, Exit};
use crate::settings::Settings;
use crate::{app, print, units};
use anyhow::Result;
use picoclaw_agent::mcp::client::{Fleet, McpError, Trial};
use picoclaw_agent::mcp::pins::Pins;
use picoclaw_policy::Origin;
use picoclaw_policy::config::McpServerConfig;
use std::time::Duration;

/// Tries one server.
pub(crate) fn run(arguments: &TryArguments, loaded: &Settings) -> Result<Exit> {
    let (server, ready) = match asked(arguments, loaded) {
        Ok(asked) => asked,
        Err(exit) => return Ok(exit),
    };
    match all(&[server], loaded, ready)?.pop() {
        Some(Ok(trial)) => {
            announce(server, &trial);
            print::line(&format!(
                "✓ MCP server \"{}\" reachable ({} tools).",
                fit(&server.name, &loaded.config),
                trial.tools.len()
            ))?;
            Ok(Exit::Done)
        }
        Some(Err(why)) => {
            print::note(&format!("error: {}", fit(&why.to_string(), &loaded.config)));
            Ok(Exit::Refused)
        }
        None => Ok(Exit::Refused),
    }
}

/// The server that is meant, and how long it may take; anything else is told.
pub(super) fn asked<'l>(
    arguments: &TryArguments,
    loaded: &'l Settings,
) -> Result<(&'l McpServerConfig, Duration), Exit> {
    let ready = units::parse_duration(&arguments.timeout).map_err(|why| exit::bad_usage(&why))?;
    let server = described::find(&arguments.name, &loaded.config).map_err(|why| {
        print::note(&format!("error: {why}"));
        Exit::Refused
    })?;
    Ok((server, ready))
}

/// Says that a server is seen for the first time.
pub(super) fn announce(server: &McpServerConfig, trial: &Trial) {
    if trial.is_new {
        print::note(&format!(
            "MCP server `{}` is new: its {} tools are pinned as they are now",
            server.name,
            trial.tools.len()
        ));
    }
}

/// Tries servers side by side; the outcomes in their order.
pub(super) fn all(
    servers: &[&McpServerConfig],
    loaded: &Settings,
    ready: Duration,
) -> Result<Vec<Result<Trial, McpError>>> {
    let house = app::core_for_one_call(loaded)?;
    let subject = app::subject(loaded, None, Origin::Cli)?;
    let runtime = app::runtime()?;
    runtime.block_on(async {
        let mut trying = tokio::task::JoinSet::new();
        for (number, server) in servers.iter().enumerate() {
            let (server, warden) = ((*server).clone(), std::sync::Arc::clone(&house.warden));
            let (pins, subject) = (Pins::open(house.instance.home())?, subject.clone());
            trying.spawn(async move { (number, Fleet::test(&server, &warden, pins, &subject, ready).await) });
        }
        let mut tried = Vec::new();
        while let Some(done) = trying.join_next().await {
            tried.push(done?);
        }
        tried.sort_by_key(|(number, _)| *number);
        Ok(tried.into_iter().map(|(_, outcome)| outcome).collect())
    })
}
