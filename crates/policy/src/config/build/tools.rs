//! `tools`.

use super::values::View;
use crate::config::schema::TOOLS;
use crate::config::tools::{ExecConfig, FenceMode, Guard, OnBlock, ToolsConfig, WebConfig};

/// Default of `timeout_seconds`.
const DEFAULT_EXEC_SECONDS: u64 = 60;

/// Default of `max_read_file_size`.
const DEFAULT_READ_BYTES: u64 = 1 << 20;

pub(super) fn tools(view: &View<'_>) -> ToolsConfig {
    let off = |tool: &&&str| !view.section(tool).flag("enabled");
    ToolsConfig {
        allow_read_paths: view.texts("allow_read_paths"),
        allow_write_paths: view.texts("allow_write_paths"),
        disabled: TOOLS.iter().filter(off).map(|tool| (*tool).to_owned()).collect(),
        ask: view.texts("ask"),
        max_read_file_size: view.section("read_file").count_or("max_read_file_size", DEFAULT_READ_BYTES),
        exec: exec(&view.section("exec")),
        cron_exec_timeout_minutes: view.section("cron").count("exec_timeout_minutes"),
        cron_allow_command: view.section("cron").flag("allow_command"),
        web: web(&view.section("web")),
    }
}

fn exec(view: &View<'_>) -> ExecConfig {
    ExecConfig {
        enable_deny_patterns: view.flag("enable_deny_patterns"),
        custom_deny_patterns: view.texts("custom_deny_patterns"),
        custom_allow_patterns: view.texts("custom_allow_patterns"),
        timeout_seconds: view.count_or("timeout_seconds", DEFAULT_EXEC_SECONDS),
        guard: if view.text("guard") == Some("smart") { Guard::Smart } else { Guard::Strict },
        fence: match view.text("fence") {
            Some("off") => FenceMode::Off,
            Some("writes") => FenceMode::Writes,
            _ => FenceMode::Full,
        },
        on_block: if view.text("on_block") == Some("ask") { OnBlock::Ask } else { OnBlock::Deny },
    }
}

fn web(view: &View<'_>) -> WebConfig {
    WebConfig {
        fetch_limit_bytes: view.count("fetch_limit_bytes"),
        private_host_whitelist: view.texts("private_host_whitelist"),
        proxy: view.secret("proxy"),
        format: view.owned("format").unwrap_or_default(),
    }
}
