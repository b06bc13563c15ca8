//! `tools`.

use super::key::{DefaultValue, Key, Shape};
use super::{mcp, web};

/// The tools that are offered.
pub(crate) const TOOLS: &[&str] = &[
    "read_file",
    "write_file",
    "list_dir",
    "edit_file",
    "append_file",
    "exec",
    "cron",
    "spawn",
    "spawn_status",
    "subagent",
    "delegate",
    "web_fetch",
];

/// Tools of the original that are not offered. An agent's `disabled` list may name them.
pub(crate) const FOREIGN_TOOLS: &[&str] = &[
    "web",
    "web_search",
    "message",
    "load_image",
    "send_file",
    "send_tts",
    "find_skills",
    "install_skill",
    "reaction",
    "i2c",
    "spi",
    "serial",
    "tool_search_tool_bm25",
    "tool_search_tool_regex",
];

/// Tools that only clients of the MCP server are offered; they have no `enabled` key.
pub(crate) const SERVED_TOOLS: &[&str] = &["check", "policy"];

/// `tools`.
pub(super) const TOOLS_SECTION: &[Key] = &[
    Key::new(
        "allow_read_paths",
        Shape::List(&Shape::Pattern),
        "Patterns of absolute paths that may be read.",
    ),
    Key::new(
        "allow_write_paths",
        Shape::List(&Shape::Pattern),
        "Patterns of absolute paths that may be written.",
    ),
    Key::new(
        "ask",
        Shape::List(&Shape::Text),
        "Tools whose every call a person must approve; `mcp_files_*` names all of a server.",
    ),
    Key::section("exec", EXEC, "Commands."),
    Key::section("cron", CRON, "Scheduled jobs."),
    Key::section("read_file", READ_FILE, "Reading files."),
    Key::section("write_file", SWITCH, "Writing files."),
    Key::section("list_dir", SWITCH, "Listing directories."),
    Key::section("edit_file", SWITCH, "Editing files."),
    Key::section("append_file", SWITCH, "Appending to files."),
    Key::section("spawn", SWITCH, "Starting a subagent in the background."),
    Key::section("spawn_status", SWITCH, "Asking after subagents."),
    Key::section("subagent", SWITCH, "Asking a subagent and waiting for it."),
    Key::section("delegate", SWITCH, "Handing a task to another agent."),
    Key::section("web_fetch", SWITCH, "Fetching a page."),
    Key::section("web", web::WEB, "What `web_fetch` may do."),
    Key::section("mcp", mcp::MCP, "Tools of MCP servers."),
    Key::foreign("filter_sensitive_data", "switching the filter of secrets; it is always on"),
    Key::foreign(
        "filter_min_length",
        "the filter's least length; every secret that cannot be guessed is filtered",
    ),
    Key::foreign("skills", "skill registries"),
    Key::foreign("media_cleanup", "media of chat channels"),
    Key::foreign("find_skills", "skill registries"),
    Key::foreign("install_skill", "skill registries"),
    Key::foreign("load_image", "images"),
    Key::foreign("send_file", "chat channels"),
    Key::foreign("send_tts", "voice output"),
    Key::foreign("message", "chat channels"),
    Key::foreign("reaction", "chat channels"),
    Key::foreign("i2c", "hardware buses"),
    Key::foreign("spi", "hardware buses"),
    Key::foreign("serial", "hardware buses"),
];

const SWITCH: &[Key] = &[Key::flag("enabled", true, "Whether the tool is offered.")];

const EXEC: &[Key] = &[
    Key::flag("enabled", true, "Whether the tool is offered."),
    Key::flag("enable_deny_patterns", true, "Refuse the dangerous families, built-in and custom."),
    Key::new("custom_deny_patterns", Shape::List(&Shape::Pattern), "More patterns of commands to refuse."),
    Key::new(
        "custom_allow_patterns",
        Shape::List(&Shape::Pattern),
        "Patterns of simple commands that deny rules pass over.",
    ),
    Key::count("timeout_seconds", 60, 31_536_000, "Seconds a command may take; 0 is 60."),
    Key::choice("guard", "strict", &["strict", "smart"], "How commands are read."),
    Key {
        default: DefaultValue::Text("full"),
        ..Key::new(
            "fence",
            Shape::FlagOrChoice(&["full", "writes", "off"]),
            "What the kernel holds of commands that run outside a cage.",
        )
    },
    Key::choice("on_block", "deny", &["deny", "ask"], "What happens to a blocked command."),
    Key::foreign("allow_remote", "commands from chat channels"),
];

const CRON: &[Key] = &[
    Key::flag("enabled", true, "Whether the tool is offered."),
    Key::count("exec_timeout_minutes", 5, 525_600, "Minutes a job's command may take; 0 is no limit."),
    Key::flag("allow_command", true, "Whether a job may be a command."),
];

const READ_FILE: &[Key] = &[
    Key::flag("enabled", true, "Whether the tool is offered."),
    Key::count("max_read_file_size", 1 << 20, 1 << 30, "Most bytes in one answer; 0 is 1048576."),
    Key::foreign("mode", "a mode of reading; `offset` and `start_line` are both offered"),
];
