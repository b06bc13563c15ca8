//! The parameters of `exec`.

use super::super::schema::{Need, Parameter, Type};

const fn optional(name: &'static str, kind: Type, about: &'static str) -> Parameter {
    Parameter { name, kind, need: Need::Optional, about }
}

pub(super) const PARAMETERS: &[Parameter] = &[
    optional(
        "action",
        Type::Text,
        "What to do: `run` (default), or with a background session `list`, `poll`, `read`, `write`, `send-keys`, `kill`.",
    ),
    optional("command", Type::Text, "The command line to run. Required for `run`."),
    optional(
        "cwd",
        Type::Text,
        "Directory to run in, absolute or relative to the workspace. Defaults to the workspace.",
    ),
    optional("working_dir", Type::Text, "Another name for `cwd`."),
    optional(
        "timeout",
        Type::Count,
        "Seconds after which the command is ended. It can only shorten the configured limit; 0 means that limit.",
    ),
    optional("background", Type::Flag, "Run in the background and return a session id at once."),
    optional("pty", Type::Flag, "Give the background command a terminal."),
    optional("sessionId", Type::Text, "The background session that an action is for."),
    optional("data", Type::Text, "Text to write to the session. A line end is not added."),
    optional(
        "keys",
        Type::Text,
        "Keys to press, separated by commas: `enter`, `tab`, `esc`, `up`, `c-c`, `f1` …",
    ),
];
