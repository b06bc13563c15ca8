//! `gateway`, `heartbeat` and `ledger`.

use super::key::{DefaultValue, Key, Shape};

/// `gateway`.
pub(super) const GATEWAY: &[Key] = &[
    Key::new("host", Shape::Text, "Address to listen at.").default("localhost"),
    Key {
        default: DefaultValue::Whole(18_790),
        ..Key::new("port", Shape::Whole(1, 65_535), "Port to listen at.")
    },
    Key::flag("hot_reload", false, "Whether a changed file is read again."),
    Key::new(
        "log_level",
        Shape::Word(&["debug", "info", "warn", "warning", "error", "fatal"]),
        "How much is logged.",
    )
    .variable("PICOCLAW_LOG_LEVEL"),
    Key::new("token", Shape::Secret, "What a client must show; generated at each start if not set."),
    Key::new(
        "allowed_hosts",
        Shape::List(&Shape::Text),
        "Names beside the loopback ones that a request may be for.",
    ),
];

/// `ledger`.
pub(super) const LEDGER: &[Key] =
    &[Key::section("anchor", ANCHOR, "Where each new head of the audit log goes: a file, or a command.")];

const ANCHOR: &[Key] = &[
    Key::new("file", Shape::Path, "A file that gets a line `HASH SEQ` for each head."),
    Key::new(
        "command",
        Shape::List(&Shape::Text),
        "A program and its arguments; the line is its standard input.",
    ),
];

/// `heartbeat`.
pub(super) const HEARTBEAT: &[Key] = &[
    Key::flag("enabled", false, "Whether the default agent wakes up."),
    Key::count("interval", 30, 525_600, "Minutes between two; 0 is 30, and fewer than 5 is 5."),
];
