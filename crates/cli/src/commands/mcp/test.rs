//! `picoclaw mcp test`: connects to a server as an agent would, lists its tools, and closes it.

use super::arguments::TestArguments;
use super::describe::{self, sanitize};
use super::fetch::fetch_for_server;
use crate::exit::{self, Exit};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::{app, print, units};
use anyhow::Result;
use picoclaw_agent::mcp::client::{McpError, McpServers, ServerTest};
use picoclaw_agent::mcp::pins::Pins;
use picoclaw_policy::Origin;
use picoclaw_policy::config::McpServerConfig;
use picoclaw_sandbox::printable;
use std::time::Duration;

/// Tests one server.
pub(crate) fn run(arguments: &TestArguments, loaded: &Settings) -> Result<Exit> {
    let (server, timeout) = match resolve(arguments, loaded) {
        Ok(resolved) => resolved,
        Err(exit) => return Ok(exit),
    };
    if let Err(why) = fetch_for_server(server, loaded) {
        print::note(&format!("error: {}", sanitize(&format!("{why:#}"), &loaded.config)));
        return Ok(Exit::Refused);
    }
    match test_all(&[server], loaded, timeout)?.pop() {
        Some(Ok(test)) => {
            note_first_use(server, &test);
            print::line(&format!(
                "✓ MCP server \"{}\" reachable ({} tools).",
                sanitize(&server.name, &loaded.config),
                test.tools.len()
            ))?;
            Ok(Exit::Done)
        }
        Some(Err(why)) => {
            print::note(&format!("error: {}", sanitize(&why.to_string(), &loaded.config)));
            Ok(Exit::Refused)
        }
        None => Ok(Exit::Refused),
    }
}

/// The server and the timeout; errors are printed.
pub(super) fn resolve<'l>(
    arguments: &TestArguments,
    loaded: &'l Settings,
) -> Result<(&'l McpServerConfig, Duration), Exit> {
    let timeout = units::parse_duration(&arguments.timeout).map_err(|why| exit::bad_usage(&why))?;
    let server = describe::find(&arguments.name, &loaded.config).map_err(|why| {
        print::note(&format!("error: {why}"));
        Exit::Refused
    })?;
    Ok((server, timeout))
}

/// Prints that the tools of a new server were pinned.
pub(super) fn note_first_use(server: &McpServerConfig, test: &ServerTest) {
    if test.is_new {
        print::note(&format!(
            "MCP server `{}` is new: its {} tools are pinned as they are now",
            server.name,
            test.tools.len()
        ));
    }
}

/// Tests servers concurrently; the results in their order.
pub(super) fn test_all(
    servers: &[&McpServerConfig],
    loaded: &Settings,
    timeout: Duration,
) -> Result<Vec<Result<ServerTest, McpError>>> {
    let core = app::core(loaded)?;
    let subject = app::subject(loaded, None, Origin::Cli)?;
    let enabled = loaded.config.mcp.servers.iter().filter(|server| server.enabled);
    let names: Vec<String> = enabled.map(|server| server.name.clone()).collect();
    let runtime = app::runtime()?;
    let _progress = Progress::of(&match servers {
        [server] => format!("connecting to {}", printable(&server.name)),
        servers => format!("connecting to {} servers", servers.len()),
    });
    runtime.block_on(async {
        let mut tests = tokio::task::JoinSet::new();
        for (number, server) in servers.iter().enumerate() {
            let (server, warden) = ((*server).clone(), std::sync::Arc::clone(&core.warden));
            let (pins, subject) = (Pins::open(core.instance.home())?, subject.clone());
            let names = names.clone();
            tests.spawn(async move {
                (number, McpServers::test(&server, &warden, pins, &subject, timeout, &names).await)
            });
        }
        let mut results = Vec::new();
        while let Some(result) = tests.join_next().await {
            results.push(result?);
        }
        results.sort_by_key(|(number, _)| *number);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    })
}
