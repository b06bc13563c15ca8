//! Hooks and MCP servers of the configuration that an agent could replace.

use super::Settings;
use picoclaw_policy::PathRules;
use picoclaw_policy::config::McpTransport;
use picoclaw_sandbox::agent_writable::AgentWritable;
use picoclaw_sandbox::printable_path;
use std::ffi::OsString;
use std::path::Path;

/// The helpers that are refused.
#[derive(Debug, Default)]
pub(crate) struct RefusedHelpers {
    /// Without them no turn runs.
    pub(crate) hooks: Vec<String>,
    /// They are left out.
    pub(crate) servers: Vec<String>,
}

impl RefusedHelpers {
    /// Those of the enabled helpers whose program lies where an agent can write.
    pub(crate) fn of(settings: &Settings) -> Self {
        let config = &settings.config;
        let Ok(rules) = PathRules::compile(&config.tools.allow_write_paths) else { return Self::default() };
        let workspaces = config.agents.iter().map(|agent| config.workspace_of(&agent.id, &settings.home));
        let writable = AgentWritable::new(&settings.home, workspaces, &config.isolation, rules);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let describe = |kind: &str,
                        name: &str,
                        command: &[OsString],
                        env: &[(OsString, OsString)],
                        dir: &Path| {
            let found = writable.find_in(command, env, dir, &path)?;
            Some(format!(
                "{kind} `{name}` is not started: `{}` lies where an agent can write; move it out of the workspace",
                printable_path(&found)
            ))
        };
        let hooks = config.hooks.processes.iter().filter(|hook| config.hooks.enabled && hook.enabled);
        let hooks = hooks.filter_map(|hook| {
            let command: Vec<OsString> = hook.command.iter().map(OsString::from).collect();
            let env: Vec<_> =
                hook.env.iter().map(|(name, value)| (name.into(), value.reveal().into())).collect();
            let dir = hook.dir.as_deref().unwrap_or(&settings.home);
            describe("hook", &hook.name, &command, &env, dir)
        });
        let servers = config.mcp.servers.iter().filter(|server| config.mcp.enabled && server.enabled);
        let servers = servers.filter_map(|server| {
            let McpTransport::Stdio { command, args, env, .. } = &server.transport else { return None };
            let words: Vec<OsString> = std::iter::once(command).chain(args).map(OsString::from).collect();
            let env: Vec<_> = env.iter().map(|(name, value)| (name.into(), value.reveal().into())).collect();
            describe("MCP server", &server.name, &words, &env, &settings.home)
        });
        Self { hooks: hooks.collect(), servers: servers.collect() }
    }
}
