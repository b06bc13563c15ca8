//! `picoclaw mcp add`: puts a server into the configuration.
//!
//! Invariant: what was there stays as it was; what would not load is not written.

use super::arguments::AddArguments;
use super::described;
use super::entry::{Here, draft};
use super::recorded::recorded;
use crate::commands::config;
use crate::exit::{self, Exit};
use crate::settings::{EditError, McpChange, ProcessEnv, Settings, edit_config};
use crate::{app, print};
use anyhow::Result;
use picoclaw_policy::config::{McpServerConfig, McpTransport};
use picoclaw_sandbox::printable;

/// Puts it in.
pub(crate) fn run(arguments: &AddArguments, loaded: &Settings, surroundings: &ProcessEnv) -> Result<Exit> {
    let path = surroundings.variable("PATH").unwrap_or_default();
    let drafted = match draft(arguments, &Here { home: surroundings.user_home(), path }) {
        Ok(drafted) => drafted,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let name = &arguments.name;
    let is_there = loaded.config.mcp.servers.iter().any(|server| server.name == *name);
    if is_there && !arguments.force {
        print::note(&format!(
            "error: there is an MCP server `{name}` already\nhint: `--force` replaces it, `picoclaw mcp show {name}` shows it"
        ));
        return Ok(Exit::Refused);
    }
    let change = McpChange::Put { name, entry: &drafted.entry };
    let after = match changed(&change, "mcp add", loaded, surroundings)? {
        Ok(after) => after,
        Err(exit) => return Ok(exit),
    };
    let verb = if is_there { "replaced" } else { "added" };
    print::line(&format!("{verb} MCP server \"{name}\" in {}", loaded.config_path.display()))?;
    if let Ok(server) = described::find(name, &after.config) {
        print::line(&format!("{}: {}", described::kind(server), described::target(server, &after.config)))?;
        for line in described::hidden(server) {
            print::line(&line)?;
        }
        if has_values(server) {
            print::note(&format!(
                "note: the values stand in `{}`, which only you can read, and perhaps in your shell's history; `.security.yml` beside it can hold them instead",
                loaded.config_path.display()
            ));
        }
    }
    for note in &drafted.notes {
        print::note(&format!("note: {}", printable(note)));
    }
    if !after.config.mcp.enabled {
        print::note("note: `tools.mcp.enabled` is switched off elsewhere, and no server is started");
    }
    print::line(&format!("Next: picoclaw mcp test {name}"))?;
    Ok(Exit::Done)
}

/// Makes a change, recorded; an error is told, and is an exit status.
pub(super) fn changed(
    change: &McpChange<'_>,
    command: &str,
    loaded: &Settings,
    surroundings: &ProcessEnv,
) -> Result<Result<Settings, Exit>> {
    let instance = app::open_instance(loaded)?;
    let intent = format!("change the MCP server {} in {}", change.name(), loaded.config_path.display());
    let done = recorded(loaded, command, &intent, || edit_config(loaded, surroundings, &instance, change))?;
    Ok(match done {
        Ok(after) => Ok(after),
        Err(EditError::Settings(why)) => {
            config::print_error(&why, &mut std::io::stderr())?;
            print::note("The configuration file is as it was.");
            Err(Exit::Usage)
        }
        Err(why) => {
            print::note(&format!(
                "error: {why}\nhint: the configuration file is as it was; change it by hand"
            ));
            Err(Exit::Refused)
        }
    })
}

fn has_values(server: &McpServerConfig) -> bool {
    match &server.transport {
        McpTransport::Stdio { env, .. } => !env.is_empty(),
        McpTransport::Http { headers, .. } => !headers.is_empty(),
    }
}
