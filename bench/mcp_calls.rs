//! A call to an MCP server through the loop, beside the same question put to the same server over a bare pipe.
//!
//! Invariant: every server is ended and waited for.

use super::Stop;
use super::mcp::{Server, line};
use super::measure::Figures;
use super::table::Table;
use super::turns::{CALLS, Stage, TURNS};
use picoclaw_policy::config::{McpServerConfig, McpTransport, OwnIsolation};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::Path;
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
use std::process::Command;
use std::time::Instant;

/// The name under which this program is a server.
pub(crate) const SELF: &str = "echo-server";

/// What a call costs beyond the server's own time: judged, recorded twice, sent, answered, told to the model.
pub(crate) fn measured(quiet: &Path, disk: &Path, table: &mut Table) -> Result<(), Stop> {
    let added = added(&quiet.join("mcp_calls"))?;
    let what = format!("{CALLS} calls to an MCP server in one turn: added to the server's own time, a call");
    table.told(&what, &added.time());
    table.told("  the same on a disk", &self::added(&disk.join("mcp_calls"))?.time());
    Ok(())
}

fn added(home: &Path) -> Result<Figures, Stop> {
    let call = json!({"name": "mcp_echo_say", "arguments": {"text": "buy milk"}});
    let program = std::env::current_exe()?;
    let command = program.to_str().ok_or("a path that is no text")?.to_owned();
    let stage = Stage::set(home, &call, |config| {
        let transport =
            McpTransport::Stdio { command, args: vec![SELF.to_owned()], env: Vec::new(), env_file: None };
        let server = McpServerConfig {
            name: "echo".to_owned(),
            enabled: true,
            deferred: false,
            transport,
            isolation: OwnIsolation::default(),
        };
        config.mcp.enabled = true;
        config.mcp.servers = vec![server];
    })?;
    #[expect(clippy::disallowed_types, reason = "as above")]
    let mut bare = Command::new(&program);
    bare.arg(SELF);
    let mut bare = Server::start(bare)?;
    bare.greet()?;
    let params = json!({"name": "say", "arguments": {"text": "buy milk"}});
    let ask = line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let mut added = Vec::with_capacity(TURNS);
    for turn in 0..TURNS {
        let began = Instant::now();
        for _ in 0..CALLS {
            bare.turn(&ask)?;
        }
        let alone = began.elapsed().as_nanos() as f64;
        let began = Instant::now();
        stage.turn(&format!("timed-{turn}"))?;
        added.push((began.elapsed().as_nanos() as f64 - alone) / CALLS as f64);
    }
    Ok(Figures::new(added))
}

/// The server: one tool, which says back what it was given.
pub(crate) fn serve() -> Result<(), Stop> {
    let mut output = std::io::stdout().lock();
    for ask in std::io::stdin().lock().lines() {
        let ask: Value = serde_json::from_str(&ask?)?;
        let Some(id) = ask.get("id") else { continue };
        let result = match ask["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": ask["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }),
            Some("tools/list") => {
                let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
                json!({"tools": [{"name": "say", "description": "Says it back.", "inputSchema": schema}]})
            }
            Some("tools/call") => {
                json!({"content": [{"type": "text", "text": ask["params"]["arguments"]["text"]}]})
            }
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                output.write_all(&line(&json!({"jsonrpc": "2.0", "id": id, "error": error})))?;
                output.flush()?;
                continue;
            }
        };
        output.write_all(&line(&json!({"jsonrpc": "2.0", "id": id, "result": result})))?;
        output.flush()?;
    }
    Ok(())
}
