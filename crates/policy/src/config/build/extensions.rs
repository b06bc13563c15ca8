//! `hooks` and `tools.mcp`.

use super::isolation::own_isolation;
use super::values::View;
use crate::config::check::Checker;
use crate::config::check_value::expand_tilde;
use crate::config::extensions::{
    DiscoveryConfig, HookConfig, HooksConfig, McpConfig, McpServerConfig, McpTransport,
};
use crate::config::fault::Problem;

pub(super) fn hooks(view: &View<'_>, checker: &mut Checker<'_>) -> HooksConfig {
    let defaults = view.section("defaults");
    HooksConfig {
        enabled: view.flag("enabled"),
        observer_timeout_ms: defaults.count_or("observer_timeout_ms", 500),
        interceptor_timeout_ms: defaults.count_or("interceptor_timeout_ms", 5_000),
        approval_timeout_ms: defaults.count_or("approval_timeout_ms", 60_000),
        processes: view.named("processes").iter().map(|(name, view)| hook(name, view, checker)).collect(),
    }
}

fn hook(name: &str, view: &View<'_>, checker: &mut Checker<'_>) -> HookConfig {
    let key = format!("hooks.processes.{name}");
    let enabled = view.flag("enabled");
    let mut command = view.texts("command");
    if let Some(program) = command.first_mut() {
        match expand_tilde(program, checker.user_home) {
            Ok(path) => *program = path,
            Err((problem, hint)) => {
                checker.report(
                    &view.origin("command"),
                    &format!("{key}.command[0]"),
                    Problem::Refused(problem),
                    hint,
                );
            }
        }
    }
    if enabled && command.first().is_none_or(|program| program.trim().is_empty()) {
        let hint = "a program and its arguments, each in `\"`";
        checker.report(&view.origin("command"), &key, Problem::Missing { key: "command" }, hint);
    }
    let (observe, intercept) = (view.texts("observe"), view.texts("intercept"));
    if enabled && observe.is_empty() && intercept.is_empty() {
        let hint = "`intercept` names moments it is asked at, `observe` events it is told of";
        checker.report(&view.origin("intercept"), &key, Problem::Missing { key: "intercept" }, hint);
    }
    HookConfig {
        name: name.to_owned(),
        enabled,
        priority: view.whole("priority"),
        command,
        dir: view.path("dir"),
        env: view.environment("env"),
        observe,
        intercept,
    }
}

pub(super) fn mcp(view: &View<'_>, checker: &mut Checker<'_>) -> McpConfig {
    let discovery = view.section("discovery");
    let deferred = discovery.flag("enabled");
    let servers = view.named("servers");
    McpConfig {
        enabled: view.flag("enabled"),
        max_inline_text_chars: view.count_or("max_inline_text_chars", 16_384),
        discovery: DiscoveryConfig {
            enabled: deferred,
            ttl: discovery.count("ttl"),
            max_search_results: discovery.count("max_search_results"),
            use_bm25: discovery.flag("use_bm25"),
            use_regex: discovery.flag("use_regex"),
        },
        servers: servers.iter().map(|(name, view)| server(name, view, deferred, checker)).collect(),
    }
}

fn server(name: &str, view: &View<'_>, hidden: bool, checker: &mut Checker<'_>) -> McpServerConfig {
    let key = format!("tools.mcp.servers.{name}");
    let enabled = view.flag("enabled");
    let stdio = match view.text("type") {
        Some(kind) => kind == "stdio",
        None => view.text("url").is_none(),
    };
    let needed = if stdio { "command" } else { "url" };
    if enabled && view.text(needed).is_none() {
        checker.report(
            &view.origin(needed),
            &key,
            Problem::Missing { key: needed },
            "a program to start, or an address to call",
        );
    }
    let transport = if stdio {
        McpTransport::Stdio {
            command: view.owned("command").unwrap_or_default(),
            args: view.texts("args"),
            env: view.environment("env"),
            env_file: view.path("env_file"),
        }
    } else {
        McpTransport::Http {
            url: view.owned("url").unwrap_or_default(),
            headers: view.environment("headers"),
        }
    };
    McpServerConfig {
        name: name.to_owned(),
        enabled,
        deferred: view.get("deferred").map_or(hidden, |_| view.flag("deferred")),
        transport,
        isolation: own_isolation(&view.section("isolation"), &format!("{key}.isolation"), checker),
    }
}
