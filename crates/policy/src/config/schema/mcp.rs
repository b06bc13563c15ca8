//! `tools.mcp`. Values of environment variables and headers are secret.

use super::isolation::SERVER_ISOLATION;
use super::key::{DefaultValue, Key, Shape};

/// `tools.mcp`.
pub(super) const MCP: &[Key] = &[
    Key::flag("enabled", false, "Whether MCP servers are started."),
    Key::count("max_inline_text_chars", 16_384, 1 << 30, "Longest text of a result that is not put aside."),
    Key::section("discovery", DISCOVERY, "Tools that stay hidden until they are searched for."),
    Key::new("servers", Shape::Map(&Shape::Section(SERVER)), "Servers, by name."),
];

const DISCOVERY: &[Key] = &[
    Key::flag("enabled", false, "Whether tools stay hidden at first."),
    Key::count("ttl", 5, 1 << 20, "Rounds that a found tool stays visible."),
    Key::count("max_search_results", 5, 1_000, "How many a search answers with."),
    Key::flag("use_bm25", true, "Whether words may be searched for."),
    Key::flag("use_regex", false, "Whether patterns may be searched for."),
];

const SERVER: &[Key] = &[
    Key::flag("enabled", false, "Whether it is started."),
    Key {
        default: DefaultValue::Unset,
        ..Key::flag("deferred", false, "Whether its tools stay hidden; `discovery.enabled` when not set.")
    },
    Key::new("type", Shape::Choice(&["", "stdio", "http", "sse", "streamable-http"]), "How it is reached."),
    Key::new("command", Shape::Program, "Program of a stdio server."),
    Key::new("args", Shape::List(&Shape::Text), "Its arguments."),
    Key::new("env", Shape::Environment, "What its environment gets."),
    Key::new("env_file", Shape::Program, "File with more of the environment.").older(&["envFile"]),
    Key::new("url", Shape::Address, "Address of an HTTP server."),
    Key::new("headers", Shape::Environment, "Headers sent along."),
    Key::section("isolation", SERVER_ISOLATION, "What its cage has besides, while isolation is on."),
];
