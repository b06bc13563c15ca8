//! `picoclaw mcp show`: one server and its tools with their parameters, without control characters.

use super::arguments::TestArguments;
use super::describe::{self, sanitize};
use super::test::{note_first_use, resolve, test_all};
use crate::exit::Exit;
use crate::print;
use crate::settings::Settings;
use anyhow::Result;
use picoclaw_agent::mcp::client::ToolInfo;
use picoclaw_policy::config::Config;
use serde_json::Value;

/// Prints the server and its tools.
pub(crate) fn run(arguments: &TestArguments, loaded: &Settings) -> Result<Exit> {
    let (server, timeout) = match resolve(arguments, loaded) {
        Ok(resolved) => resolved,
        Err(exit) => return Ok(exit),
    };
    let config = &loaded.config;
    let yes = |flag: bool| if flag { "yes" } else { "no" };
    let mut lines = vec![
        format!("name: {}", sanitize(&server.name, config)),
        format!("type: {}", describe::kind(server)),
        format!("target: {}", describe::target(server, config)),
        format!("enabled: {}", yes(server.enabled && config.mcp.enabled)),
        format!("deferred: {}", yes(server.deferred)),
    ];
    lines.extend(describe::masked_values(server));
    lines.extend(describe::isolation(server));
    print::line(&lines.join("\n"))?;
    match test_all(&[server], loaded, timeout)?.pop() {
        Some(Ok(test)) => {
            note_first_use(server, &test);
            if let Some(version) = &test.protocol_version {
                print::line(&format!("protocol: {}", sanitize(version, config)))?;
            }
            print::line(&format!("tools: {}", test.tools.len()))?;
            for tool in &test.tools {
                print::line(&tool_text(tool, config))?;
            }
            Ok(Exit::Done)
        }
        Some(Err(why)) => {
            print::note(&format!("error: {}", sanitize(&why.to_string(), config)));
            Ok(Exit::Refused)
        }
        None => Ok(Exit::Refused),
    }
}

/// A tool with its typed parameters.
fn tool_text(tool: &ToolInfo, config: &Config) -> String {
    let mut text = format!("\n{}\n", sanitize(&tool.name, config));
    for line in tool.about.trim().lines() {
        text.push_str(format!("  {}", sanitize(line, config)).trim_end());
        text.push('\n');
    }
    let required = tool.schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    for (name, parameter) in tool.schema["properties"].as_object().into_iter().flatten() {
        let needed = if is_required(name) { ", required" } else { "" };
        let about = parameter["description"].as_str().map(str::trim).filter(|about| !about.is_empty());
        let about = about.map_or_else(String::new, |about| format!(": {}", sanitize(about, config)));
        let kind = sanitize(&type_text(parameter), config);
        text.push_str(&format!("  - {} ({kind}{needed}){about}\n", sanitize(name, config)));
    }
    text
}

fn type_text(parameter: &Value) -> String {
    let join = |values: &[Value]| {
        let texts =
            values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        texts.collect::<Vec<_>>().join(" | ")
    };
    match (&parameter["enum"], &parameter["type"]) {
        (Value::Array(values), _) => join(values),
        (_, Value::String(kind)) if kind == "array" => match parameter["items"]["type"].as_str() {
            Some(items) => format!("array of {items}"),
            None => kind.clone(),
        },
        (_, Value::String(kind)) => kind.clone(),
        (_, Value::Array(kinds)) => join(kinds),
        _ => "any".to_owned(),
    }
}
