//! `picoclaw mcp list`: the configured servers. Only `--status` connects to them.

use super::arguments::ListArguments;
use super::{describe, test};
use crate::exit::{self, Exit};
use crate::settings::Settings;
use crate::{print, units};
use anyhow::Result;
use picoclaw_policy::config::McpServerConfig;
use picoclaw_sandbox::printable_json;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// Prints the servers.
pub(crate) fn run(arguments: &ListArguments, loaded: &Settings) -> Result<Exit> {
    let timeout = match units::parse_duration(&arguments.timeout) {
        Ok(timeout) => timeout,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let mcp = &loaded.config.mcp;
    let mut rows: Vec<Value> = mcp.servers.iter().map(|server| row(server, loaded)).collect();
    if arguments.status {
        let numbers: Vec<usize> = (0..mcp.servers.len()).filter(|at| mcp.servers[*at].enabled).collect();
        let servers: Vec<_> = numbers.iter().map(|at| &mcp.servers[*at]).collect();
        let results =
            if servers.is_empty() { Vec::new() } else { test::test_all(&servers, loaded, timeout)? };
        for (at, result) in numbers.into_iter().zip(results) {
            match result {
                Ok(test) => {
                    rows[at]["status"] = json!(format!("ok ({} tools)", test.tools.len()));
                    rows[at]["tools"] = json!(test.tools.len());
                }
                Err(why) => {
                    let why = describe::sanitize(&why.to_string(), &loaded.config);
                    rows[at]["status"] = json!("error");
                    rows[at]["error"] = json!(why);
                    if !arguments.json {
                        print::note(&format!("error: {why}"));
                    }
                }
            }
        }
    }
    if arguments.json {
        print::line(&printable_json(&rows)?)?;
    } else if rows.is_empty() {
        print::line("No MCP servers are configured.")?;
    } else {
        print::line(&table(&rows))?;
    }
    if !mcp.enabled && !mcp.servers.is_empty() {
        print::note("note: `tools.mcp.enabled` is off, and agents have none of them");
    }
    Ok(Exit::Done)
}

fn row(server: &McpServerConfig, loaded: &Settings) -> Value {
    json!({
        "name": describe::sanitize(&server.name, &loaded.config),
        "type": describe::kind(server),
        "target": describe::target(server, &loaded.config),
        "enabled": server.enabled,
        "status": if server.enabled { "enabled" } else { "disabled" },
        "deferred": server.deferred,
    })
}

fn table(rows: &[Value]) -> String {
    let text = |row: &Value, key: &str| match &row[key] {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    };
    let keys = ["name", "type", "target", "status", "deferred"];
    let mut lines = vec![keys.map(str::to_uppercase)];
    lines.extend(rows.iter().map(|row| keys.map(|key| text(row, key))));
    let widths = [0, 1, 2, 3].map(|at| lines.iter().map(|line| line[at].width()).max().unwrap_or(0));
    let mut out = String::new();
    for line in &lines {
        for (cell, width) in line.iter().zip(widths) {
            out.push_str(cell);
            out.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
        }
        out.push_str(&line[4]);
        out.push('\n');
    }
    out
}
