//! `picoclaw mcp remove`: removes a server and its pin.

use super::add::apply_change;
use super::arguments::RemoveArguments;
use super::describe;
use crate::exit::Exit;
use crate::print;
use crate::settings::{AfterRemoval, McpChange, ProcessEnv, Settings};
use anyhow::{Context, Result};
use picoclaw_agent::mcp::pins::{PinKey, Pins};

/// Removes the server.
pub(crate) fn run(arguments: &RemoveArguments, loaded: &Settings, process_env: &ProcessEnv) -> Result<Exit> {
    let name = &arguments.name;
    if let Err(why) = describe::find(name, &loaded.config) {
        print::note(&format!("error: {why}"));
        return Ok(Exit::Refused);
    }
    let then = if loaded.config.mcp.servers.len() == 1 { AfterRemoval::Off } else { AfterRemoval::Stays };
    let change = McpChange::Take { name, then };
    if let Err(exit) = apply_change(&change, "mcp remove", loaded, process_env)? {
        return Ok(exit);
    }
    let pins = Pins::open(&loaded.home)?;
    pins.forget(&PinKey::configured(name)).context("it is out of the configuration, and its pin stayed")?;
    print::line(&format!("removed MCP server \"{name}\" from {}", loaded.config_path.display()))?;
    if then == AfterRemoval::Off {
        print::line("it was the last one: `tools.mcp.enabled` is off")?;
    }
    Ok(Exit::Done)
}
