//! `picoclaw mcp add`: adds a server to the configuration. An entry that would not load is not
//! written.

use super::arguments::AddArguments;
use super::audit::recorded;
use super::describe;
use super::new_server::{NewServer, SearchPaths};
use crate::commands::config;
use crate::exit::{self, Exit};
use crate::settings::{EditError, McpChange, ProcessEnv, Settings, edit_config};
use crate::{app, print};
use anyhow::Result;
use picoclaw_policy::config::{McpServerConfig, McpTransport, OwnIsolation};
use picoclaw_sandbox::printable;

/// Adds the server.
pub(crate) fn run(arguments: &AddArguments, loaded: &Settings, process_env: &ProcessEnv) -> Result<Exit> {
    let path = process_env.variable("PATH").unwrap_or_default();
    let paths = SearchPaths { home: process_env.user_home(), path, server: &arguments.name };
    let new_server = match NewServer::parse(arguments, &paths) {
        Ok(new_server) => new_server,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let name = &arguments.name;
    let exists = loaded.config.mcp.servers.iter().any(|server| server.name == *name);
    if exists && !arguments.force {
        print::note(&format!(
            "error: the MCP server `{name}` already exists\nhint: `--force` replaces it, `picoclaw mcp show {name}` shows it"
        ));
        return Ok(Exit::Refused);
    }
    let change = McpChange::Put { name, entry: &new_server.entry };
    let after = match apply_change(&change, "mcp add", loaded, process_env)? {
        Ok(after) => after,
        Err(exit) => return Ok(exit),
    };
    let verb = if exists { "replaced" } else { "added" };
    print::line(&format!("{verb} MCP server \"{name}\" in {}", loaded.config_path.display()))?;
    if let Ok(server) = describe::find(name, &after.config) {
        print::line(&format!("{}: {}", describe::kind(server), describe::target(server, &after.config)))?;
        for line in describe::masked_values(server).into_iter().chain(describe::isolation(server)) {
            print::line(&line)?;
        }
        if !after.config.isolation.enabled && server.isolation != OwnIsolation::default() {
            print::note(
                "note: isolation is off, so `--ro`, `--rw`, `--net` and `--allow-host` change nothing",
            );
        }
        if has_secrets(server) {
            print::note(&format!(
                "note: the values stand in `{}`, which only you can read, and perhaps in your shell's history; `.security.yml` beside it can hold them instead",
                loaded.config_path.display()
            ));
        }
    }
    for note in &new_server.notes {
        print::note(&format!("note: {}", printable(note)));
    }
    if !after.config.mcp.enabled {
        print::note("note: `tools.mcp.enabled` is switched off elsewhere, and no server is started");
    }
    print::line(&format!("Next: picoclaw mcp test {name}"))?;
    Ok(Exit::Done)
}

/// Applies and records a change; an error is printed and becomes an exit status.
pub(super) fn apply_change(
    change: &McpChange<'_>,
    command: &str,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<Result<Settings, Exit>> {
    let instance = app::open_instance(loaded)?;
    let intent = format!("change the MCP server {} in {}", change.name(), loaded.config_path.display());
    let result = recorded(loaded, command, &intent, || edit_config(loaded, process_env, &instance, change))?;
    Ok(match result {
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

fn has_secrets(server: &McpServerConfig) -> bool {
    match &server.transport {
        McpTransport::Stdio { env, .. } => !env.is_empty(),
        McpTransport::Http { headers, .. } => !headers.is_empty(),
    }
}
