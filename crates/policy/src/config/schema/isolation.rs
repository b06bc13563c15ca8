//! `isolation`.

use super::key::{DefaultValue, Key, Shape};
use crate::protect::DEFAULT_PROTECT;

/// `isolation`.
pub(super) const ISOLATION: &[Key] = &[
    Key::flag("enabled", false, "Put every child process into a cage."),
    Key::new(
        "expose_paths",
        Shape::List(&Shape::Section(EXPOSE)),
        "Host paths that are shown inside the cage.",
    ),
    Key::choice("backend", "auto", &["auto", "native", "bwrap"], "How the cage is built."),
    Key::new("network", NETWORK, NETWORK_DOC).default("host"),
    Key::flag(
        "unix_sockets",
        false,
        "Whether commands without a file tree of their own (fence, Landlock) may connect to UNIX sockets.",
    ),
    Key::section("limits", LIMITS, "Bounds of a child and all it starts; 0 is no limit."),
    Key::section("env", ENV, "The environment inside the cage."),
    Key::new("toolchains", Shape::Toolchains, "Toolchains shown inside: `auto`, `none`, or names.")
        .default("auto"),
    Key::new(
        "require",
        Shape::List(&Shape::Choice(&["filesystem", "network", "processes", "syscalls", "limits"])),
        "Layers that must hold in full, or nothing starts.",
    ),
    Key {
        default: DefaultValue::Texts(DEFAULT_PROTECT),
        ..Key::new(
            "protect",
            Shape::List(&Shape::Text),
            "Files of a workspace that programs outside execute or obey; `[]` protects nothing.",
        )
    },
];

/// `tools.mcp.servers.*.isolation`.
pub(super) const SERVER_ISOLATION: &[Key] = &[
    Key::new(
        "expose_paths",
        Shape::List(&Shape::Section(EXPOSE)),
        "Host paths that this server sees besides those of `isolation.expose_paths`.",
    ),
    Key::new("network", NETWORK, "What network this server has; `isolation.network` when not set."),
];

const NETWORK: Shape = Shape::ChoiceOr(&["host", "none"], NETWORK_HOSTS);

const NETWORK_DOC: &str = "What network a child has; `none` leaves a private loopback, `{\"allow\": [\"api.example.com\"]}` reaches these hosts by name.";

const NETWORK_HOSTS: &[Key] = &[
    Key::new(
        "allow",
        Shape::List(&Shape::Host),
        "Hosts that are reached, at ports 443 and 80 or at the one that is named.",
    ),
    Key::new("deny", Shape::List(&Shape::Host), "Hosts that are not, although `allow` has them."),
];

const EXPOSE: &[Key] = &[
    Key::new("source", Shape::Path, "The host path."),
    Key::new("target", Shape::Path, "The path inside; the source when not given."),
    Key::new("mode", Shape::Choice(&["ro", "rw"]), "Read-only or read-write."),
];

const LIMITS: &[Key] = &[
    Key::count("memory_mb", 4_096, 1 << 40, "Memory of the whole tree, in MiB."),
    Key::count("processes", 1_024, 1 << 22, "Processes of the whole tree."),
    Key::count("file_size_mb", 4_096, 1 << 40, "The largest file, in MiB."),
    Key::count("open_files", 4_096, 1 << 30, "Open files of one process."),
    Key::count("cpu_seconds", 0, 1 << 32, "Processor seconds of one process."),
];

const ENV: &[Key] = &[Key::new(
    "pass",
    Shape::List(&Shape::Variable),
    "Variables that go into the cage as they are outside.",
)];
