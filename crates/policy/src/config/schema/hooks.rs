//! `hooks`.

use super::key::{Key, Shape};

/// `hooks`.
pub(super) const HOOKS: &[Key] = &[
    Key::flag("enabled", true, "Whether hooks are started."),
    Key::section("defaults", DEFAULTS, "How long hooks may take."),
    Key::new("processes", Shape::Map(&Shape::Section(PROCESS)), "Hooks, by name."),
    Key::foreign("builtins", "built-in hooks"),
];

const DEFAULTS: &[Key] = &[
    Key::count("observer_timeout_ms", 500, 3_600_000, "Milliseconds for an observer; 0 is 500."),
    Key::count("interceptor_timeout_ms", 5_000, 3_600_000, "Milliseconds for an interceptor; 0 is 5000."),
    Key::count("approval_timeout_ms", 60_000, 3_600_000, "Milliseconds for an approval; 0 is 60000."),
];

const PROCESS: &[Key] = &[
    Key::flag("enabled", false, "Whether it is started."),
    Key::new("priority", Shape::Whole(-1_000_000, 1_000_000), "Lower comes first."),
    Key::new("transport", Shape::Choice(&["", "stdio"]), "How it is spoken to."),
    Key::new("command", Shape::List(&Shape::Program), "Program and arguments."),
    Key::new("dir", Shape::Path, "Working directory."),
    Key::new("env", Shape::Environment, "What its environment gets."),
    Key::new("observe", Shape::List(&Shape::Text), "Kinds of events it is told of."),
    Key::new(
        "intercept",
        Shape::List(&Shape::Choice(&[
            "before_llm",
            "after_llm",
            "before_tool",
            "after_tool",
            "approve_tool",
        ])),
        "Moments it is asked at.",
    ),
];
