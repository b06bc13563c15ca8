//! The top level: every top-level key of every schema version of the original.

use super::key::{Key, Shape};
use super::{agents, gateway, hooks, isolation, models, tools};

/// The newest supported schema version.
pub(crate) const NEWEST_VERSION: i64 = 3;

/// Every key.
pub(crate) const ROOT: &[Key] = &[
    Key::count("version", NEWEST_VERSION, NEWEST_VERSION, "Schema version of the file, 0 to 3; none is 0."),
    Key::new("$schema", Shape::Text, "Address of a JSON Schema, for editors."),
    Key::section("agents", agents::AGENTS, "Agents, and what they share."),
    Key::new("model_list", Shape::List(&Shape::Section(models::MODEL)), "Models that agents can ask for."),
    Key::section("tools", tools::TOOLS_SECTION, "Tools, and what they may touch."),
    Key::section("isolation", isolation::ISOLATION, "The cage around child processes."),
    Key::section("hooks", hooks::HOOKS, "Programs that watch or decide."),
    Key::section("heartbeat", gateway::HEARTBEAT, "The regular wake-up of the default agent."),
    Key::section("ledger", gateway::LEDGER, "The audit log."),
    Key::section("gateway", gateway::GATEWAY, "The long-running process and its HTTP interface."),
    Key::new(
        "providers",
        Shape::Map(&Shape::Section(models::PROVIDER)),
        "Model providers, as the oldest files have them.",
    ),
    Key::foreign("channel_list", "chat channels"),
    Key::foreign("channels", "chat channels"),
    Key::foreign("session", "session scopes of chat channels"),
    Key::foreign("bindings", "dispatch of chat channels to agents"),
    Key::foreign("events", "event logging; the ledger records every call"),
    Key::foreign("evolution", "self-modifying skills"),
    Key::foreign("devices", "device monitoring"),
    Key::foreign("voice", "voice input and output"),
    Key::foreign("build_info", "build details of the program that wrote the file"),
];
