//! Other people's MCP servers for one command: started for it, and ended with it.
//!
//! Invariant: only servers that the command can mean are started, and none outlives it.

use super::{House, runtime};
use crate::print;
use crate::settings::Loaded;
use anyhow::Result;
use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::mcp::client::Fleet;
use picoclaw_agent::mcp::pins::Pins;
use picoclaw_policy::Subject;
use picoclaw_policy::config::McpConfig;
use picoclaw_sandbox::printable;

/// Whether the configuration has a server that `is_meant`.
pub(crate) fn has_servers(loaded: &Loaded, is_meant: impl Fn(&str) -> bool) -> bool {
    let mcp = &loaded.config.mcp;
    mcp.enabled && mcp.servers.iter().any(|server| server.enabled && is_meant(&server.name))
}

/// Does `work` in a hall that has the tools of the servers that are meant.
pub(crate) fn with_servers<T>(
    loaded: &Loaded,
    house: House,
    subject: &Subject,
    is_meant: impl Fn(&str) -> bool,
    work: impl AsyncFnOnce(ToolExecutor) -> T,
) -> Result<T> {
    let mut meant: McpConfig = loaded.config.mcp.clone();
    meant.servers.retain(|server| is_meant(&server.name));
    // A person who names a tool has found it.
    meant.servers.iter_mut().for_each(|server| server.deferred = false);
    let fleet = Fleet::new(&meant, &house.warden, Pins::open(house.instance.home())?, subject);
    let hall = ToolExecutor::new(house.warden, house.registry);
    Ok(runtime()?.block_on(async {
        let joined = fleet.join().await;
        for notice in &joined.notices {
            print::note(&format!("picoclaw: {}", printable(notice)));
        }
        hall.replace_registry(fleet.fit(&hall.registry(), joined.tools));
        let done = work(hall).await;
        fleet.close().await;
        done
    }))
}
