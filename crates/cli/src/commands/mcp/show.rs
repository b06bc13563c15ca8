//! `picoclaw mcp show`: one server, and the tools that it offers with their parameters.
//!
//! Invariant: what the server wrote is shown as text; nothing in it reaches the terminal as a command.

use super::arguments::TryArguments;
use super::attempt::{all, announce, asked};
use super::described::{self, fit};
use crate::exit::Exit;
use crate::print;
use crate::settings::Settings;
use anyhow::Result;
use picoclaw_agent::mcp::client::Offered;
use picoclaw_policy::config::Config;
use serde_json::Value;

/// Shows it.
pub(crate) fn run(arguments: &TryArguments, loaded: &Settings) -> Result<Exit> {
    let (server, ready) = match asked(arguments, loaded) {
        Ok(asked) => asked,
        Err(exit) => return Ok(exit),
    };
    let config = &loaded.config;
    let yes = |flag: bool| if flag { "yes" } else { "no" };
    let mut lines = vec![
        format!("name: {}", fit(&server.name, config)),
        format!("type: {}", described::kind(server)),
        format!("target: {}", described::target(server, config)),
        format!("enabled: {}", yes(server.enabled && config.mcp.enabled)),
        format!("deferred: {}", yes(server.deferred)),
    ];
    lines.extend(described::hidden(server));
    print::line(&lines.join("\n"))?;
    match all(&[server], loaded, ready)?.pop() {
        Some(Ok(trial)) => {
            announce(server, &trial);
            if let Some(revision) = &trial.revision {
                print::line(&format!("protocol: {}", fit(revision, config)))?;
            }
            print::line(&format!("tools: {}", trial.tools.len()))?;
            for tool in &trial.tools {
                print::line(&told(tool, config))?;
            }
            Ok(Exit::Done)
        }
        Some(Err(why)) => {
            print::note(&format!("error: {}", fit(&why.to_string(), config)));
            Ok(Exit::Refused)
        }
        None => Ok(Exit::Refused),
    }
}

/// A tool with its typed parameters.
fn told(tool: &Offered, config: &Config) -> String {
    let mut text = format!("\n{}\n", fit(&tool.name, config));
    for line in tool.about.trim().lines() {
        text.push_str(format!("  {}", fit(line, config)).trim_end());
        text.push('\n');
    }
    let required = tool.schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    for (name, parameter) in tool.schema["properties"].as_object().into_iter().flatten() {
        let needed = if is_required(name) { ", required" } else { "" };
        let about = parameter["description"].as_str().map(str::trim).filter(|about| !about.is_empty());
        let about = about.map_or_else(String::new, |about| format!(": {}", fit(about, config)));
        let kind = fit(&kind(parameter), config);
        text.push_str(&format!("  - {} ({kind}{needed}){about}\n", fit(name, config)));
    }
    text
}

fn kind(parameter: &Value) -> String {
    let words = |values: &[Value]| {
        let texts =
            values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        texts.collect::<Vec<_>>().join(" | ")
    };
    match (&parameter["enum"], &parameter["type"]) {
        (Value::Array(values), _) => words(values),
        (_, Value::String(kind)) if kind == "array" => match parameter["items"]["type"].as_str() {
            Some(items) => format!("array of {items}"),
            None => kind.clone(),
        },
        (_, Value::String(kind)) => kind.clone(),
        (_, Value::Array(kinds)) => words(kinds),
        _ => "any".to_owned(),
    }
}
