//! How to configure picoclaw in each MCP host, and how to disable the host's own tools. A snippet
//! is a complete file in the host's format.

use super::arguments::Host;
use serde_json::{Map, Value, json};

/// The command that starts the server.
pub(super) struct ServeCommand {
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
}

/// The instructions for one host.
pub(super) struct HostInstructions {
    /// The configuration.
    pub(super) snippet: String,
    /// The file that it belongs to.
    pub(super) location: &'static str,
    /// How to disable the host's own tools.
    pub(super) own_tools: &'static str,
}

/// The instructions for `host`.
pub(super) fn instructions(host: Host, start: &ServeCommand) -> HostInstructions {
    match host {
        Host::ClaudeCode => HostInstructions {
            snippet: pretty_json(&json!({"mcpServers": {"picoclaw": start.to_json_with_type()}})),
            location: "`.mcp.json` in the project, or for every project: `claude mcp add --scope user picoclaw -- ` and the command above",
            own_tools: "\
in `.claude/settings.json` of the project, or `~/.claude/settings.json`:
  {\"permissions\": {\"deny\": [\"Bash\", \"Read\", \"Edit\", \"Write\", \"NotebookEdit\", \"Glob\", \"Grep\"], \"allow\": [\"mcp__picoclaw\"]}}
A tool that is denied by its bare name is refused whatever else is allowed.",
        },
        Host::Codex => HostInstructions {
            snippet: start.to_toml(),
            location: "`~/.codex/config.toml`, or `.codex/config.toml` of a project that Codex trusts",
            own_tools: "\
in the same file, before the first table:
  sandbox_mode = \"read-only\"
and as a table of its own:
  [features]
  shell_tool = false
The first keeps its patch tool from writing, the second takes its shell away. Servers run outside Codex's sandbox.",
        },
        Host::Cursor => HostInstructions {
            snippet: pretty_json(&json!({"mcpServers": {"picoclaw": start.to_json()}})),
            location: "`.cursor/mcp.json` in the project, or `~/.cursor/mcp.json` for every project",
            own_tools: "\
Cursor cannot take its own tools away; a hook can refuse what they do. In `.cursor/hooks.json` of the project, or `~/.cursor/hooks.json`:
  {\"version\": 1, \"hooks\": {\"beforeShellExecution\": [{\"command\": \"echo '{\\\"permission\\\": \\\"deny\\\"}'\", \"failClosed\": true}], \"beforeReadFile\": [{\"command\": \"echo '{\\\"permission\\\": \\\"deny\\\"}'\", \"failClosed\": true}]}}
Its edits are not held by this: keep them under review, and auto-run off.",
        },
        Host::VsCode => HostInstructions {
            snippet: pretty_json(&json!({"servers": {"picoclaw": start.to_json_with_type()}})),
            location: "`.vscode/mcp.json` in the project, or the user's (`MCP: Open User Configuration`)",
            own_tools: "\
with an agent that has no other tools, in `.github/agents/picoclaw.agent.md`:
  ---
  description: Works through picoclaw alone
  tools: ['picoclaw/*']
  ---
Choose it in the chat; the default agent keeps its own tools unless they are unticked under `Configure Tools`.",
        },
        Host::Zed => HostInstructions {
            snippet: pretty_json(&json!({"context_servers": {"picoclaw": start.to_json()}})),
            location: "Zed's `settings.json` (`zed: open settings file`)",
            own_tools: "\
with a profile that has no other tools, in the same file:
  {\"agent\": {\"default_profile\": \"picoclaw\", \"profiles\": {\"picoclaw\": {\"name\": \"picoclaw\", \"tools\": {}, \"enable_all_context_servers\": true}}}}",
        },
    }
}

impl ServeCommand {
    /// `command`, `args` and `env`.
    fn to_json(&self) -> Map<String, Value> {
        let mut server = Map::new();
        server.insert("command".to_owned(), json!(self.command));
        server.insert("args".to_owned(), json!(self.arguments));
        if !self.variables.is_empty() {
            let variables = self.variables.iter().map(|(name, value)| (name.clone(), json!(value)));
            server.insert("env".to_owned(), Value::Object(variables.collect()));
        }
        server
    }

    /// With `type`, which some hosts require.
    fn to_json_with_type(&self) -> Map<String, Value> {
        let mut server = Map::from_iter([("type".to_owned(), json!("stdio"))]);
        server.extend(self.to_json());
        server
    }

    fn to_toml(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(|text| toml_string(text)).collect();
        let mut text = format!(
            "[mcp_servers.picoclaw]\ncommand = {}\nargs = [{}]\n",
            toml_string(&self.command),
            arguments.join(", ")
        );
        if !self.variables.is_empty() {
            text.push_str("\n[mcp_servers.picoclaw.env]\n");
            for (name, value) in &self.variables {
                text.push_str(&format!("{} = {}\n", toml_string(name), toml_string(value)));
            }
        }
        text
    }
}

fn pretty_json(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    text.push('\n');
    text
}

/// A TOML basic string.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(path: &str) -> ServeCommand {
        ServeCommand {
            command: path.to_owned(),
            arguments: vec!["mcp".to_owned(), "serve".to_owned(), "--workspace".to_owned(), path.to_owned()],
            variables: vec![("PICOCLAW_HOME".to_owned(), path.to_owned())],
        }
    }

    #[test]
    fn every_snippet_parses_and_keeps_odd_paths() {
        for path in ["/usr/bin/picoclaw", "/home/a b/p\"q\\r", "/tmp/ünï\u{7f}\tcode"] {
            for (host, pointer) in [
                (Host::ClaudeCode, "/mcpServers/picoclaw"),
                (Host::Codex, "/mcp_servers/picoclaw"),
                (Host::Cursor, "/mcpServers/picoclaw"),
                (Host::VsCode, "/servers/picoclaw"),
                (Host::Zed, "/context_servers/picoclaw"),
            ] {
                let snippet = instructions(host, &start(path)).snippet;
                let read: Value = if host == Host::Codex {
                    let table: toml::Table = snippet.parse().unwrap_or_else(|why| panic!("{why}: {snippet}"));
                    serde_json::to_value(table).unwrap()
                } else {
                    serde_json::from_str(&snippet).unwrap()
                };
                let server = read.pointer(pointer).unwrap_or_else(|| panic!("{host:?}: {snippet}"));
                assert_eq!(server["command"], path, "{host:?}");
                assert_eq!(server["args"], json!(["mcp", "serve", "--workspace", path]), "{host:?}");
                assert_eq!(server["env"]["PICOCLAW_HOME"], path, "{host:?}");
            }
        }
    }

    #[test]
    fn what_switches_a_hosts_own_tools_off_parses() {
        for (host, want) in [
            (Host::ClaudeCode, "/permissions/deny/0"),
            (Host::Cursor, "/hooks/beforeShellExecution/0/failClosed"),
            (Host::Zed, "/agent/profiles/picoclaw/tools"),
        ] {
            let instructions = instructions(host, &start("/p"));
            let line = instructions.own_tools.lines().find(|line| line.starts_with("  {")).unwrap();
            let read: Value =
                serde_json::from_str(line).unwrap_or_else(|why| panic!("{host:?}: {why}: {line}"));
            assert!(read.pointer(want).is_some(), "{host:?}: {line}");
        }
        let instructions = instructions(Host::Codex, &start("/p"));
        let lines: Vec<&str> =
            instructions.own_tools.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let table: toml::Table = lines.join("\n").parse().unwrap();
        assert_eq!(table["features"]["shell_tool"].as_bool(), Some(false));
    }
}
