//! Argument profiles of programs that copy, build, query and run.

use super::arg_profile::{First, INTO, Operands, Profile, READS, WRITES};

/// The table.
pub(super) const TOOLS: &[Profile] = &[
    Profile {
        names: &["rg", "ag", "ack"],
        short: "efgmABCtTjMdrE",
        text: "egmABCtTjMdrE",
        long: &[
            "regexp",
            "file",
            "glob",
            "iglob",
            "type",
            "type-not",
            "max-count",
            "max-depth",
            "replace",
            "sort",
            "context",
        ],
        text_long: &[
            "regexp",
            "glob",
            "iglob",
            "type",
            "type-not",
            "max-count",
            "max-depth",
            "replace",
            "sort",
            "context",
            "color",
            "colors",
            "engine",
        ],
        first: First::TextUnless("ef", &["regexp", "file", "files"]),
        ..READS
    },
    Profile { names: &["fd", "fdfind"], short: "eEtdxXSojg", text: "eEtdSojg", first: First::Text, ..READS },
    Profile {
        names: &["jq", "yq", "gojq", "jaq"],
        short: "fL",
        long: &["arg", "argjson", "from-file", "indent", "slurpfile", "rawfile"],
        text_long: &["arg", "argjson", "indent"],
        first: First::TextUnless("f", &["from-file"]),
        ..READS
    },
    Profile {
        names: &["date"],
        short: "drfs",
        text: "ds",
        long: &["date", "set", "reference", "file"],
        text_long: &["date", "set", "iso-8601", "rfc-3339"],
        first: First::Text,
        ..READS
    },
    Profile {
        names: &["cp", "mv", "ginstall", "install"],
        short: "tSmogZ",
        text: "Smog",
        out: "t",
        out_long: &["target-directory"],
        long: &["target-directory", "mode", "owner", "group", "suffix"],
        text_long: &["mode", "owner", "group", "suffix", "backup"],
        ..INTO
    },
    Profile {
        names: &["rsync"],
        short: "efBMT",
        text: "efBM",
        long: &["exclude", "include", "filter", "rsh", "chmod"],
        text_long: &["exclude", "include", "filter", "rsh", "chmod", "bwlimit", "out-format"],
        ..INTO
    },
    Profile { names: &["scp"], short: "PioFlcJS", text: "PolcJ", ..INTO },
    Profile { names: &["zip"], short: "xitn", text: "xitn", ..WRITES },
    Profile { names: &["mkdir", "mkfifo", "mknod"], short: "m", text: "m", text_long: &["mode"], ..WRITES },
    Profile {
        names: &["mktemp"],
        short: "pt",
        text: "t",
        out: "p",
        out_long: &["tmpdir"],
        text_long: &["suffix"],
        ..WRITES
    },
    Profile { names: &["touch"], short: "dtr", text: "dt", text_long: &["date", "time"], ..WRITES },
    Profile {
        names: &["truncate", "fallocate"],
        short: "slo",
        text: "slo",
        text_long: &["size", "length"],
        ..WRITES
    },
    Profile { names: &["split", "csplit"], short: "bClnaf", text: "bClna", ..WRITES },
    Profile { names: &["chmod"], first: First::TextUnless("", &["reference"]), ..WRITES },
    Profile { names: &["chown", "chgrp"], first: First::TextUnless("", &["reference"]), ..WRITES },
    Profile { names: &["ssh-keygen"], short: "CNPtbfIVnsOwEaDmRryzZMFH", text: "CNPtbIVnOEamzZ", ..WRITES },
    Profile {
        names: &["psql"],
        short: "cdhpUvFRfoLPT",
        text: "cdhpUvFRPT",
        out: "oL",
        text_long: &["command", "dbname", "host"],
        long: &["command", "dbname", "host"],
        operands: Operands::Text,
        ..READS
    },
    Profile {
        names: &["mysql", "mariadb", "mongosh", "mongo"],
        short: "euhPD",
        text: "euhPD",
        text_long: &["execute", "eval"],
        long: &["execute", "eval"],
        operands: Operands::Text,
        ..READS
    },
    Profile {
        names: &["gh", "glab"],
        short: "btBHRqjLfF",
        text: "btBHRqjLf",
        long: &["body", "title", "base", "head", "repo", "json", "jq", "template", "field"],
        text_long: &[
            "body", "title", "base", "head", "repo", "json", "jq", "template", "field", "search", "label",
        ],
        ..WRITES
    },
    Profile { names: &["pytest", "py.test"], short: "kmnpWo", text: "kmnpWo", ..WRITES },
    Profile { names: &["perl", "ruby"], short: "eEIMmriF0lC", text: "eEMmriF0lC", ..WRITES },
    Profile {
        names: &["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"],
        short: "coO",
        text: "coO",
        ..READS
    },
    Profile { names: &["python", "pypy", "pypy3"], short: "cmWX", text: "cmWX", ..WRITES },
    Profile {
        names: &["node", "nodejs", "bun", "deno"],
        short: "epr",
        text: "ep",
        long: &["eval", "print"],
        text_long: &["eval", "print"],
        ..WRITES
    },
    Profile {
        names: &["php", "lua", "luajit", "Rscript", "julia", "elixir", "osascript"],
        short: "re",
        text: "re",
        ..WRITES
    },
    Profile {
        names: &["xargs"],
        short: "IEdLnPsa",
        text: "IEdLnPs",
        long: &["arg-file", "delimiter", "max-args", "max-procs", "replace", "max-lines"],
        text_long: &["delimiter", "max-args", "max-procs", "replace", "max-lines", "eof"],
        operands: Operands::Text,
        ..READS
    },
    Profile {
        names: &["env"],
        short: "uCS",
        long: &["unset", "chdir"],
        text: "uS",
        text_long: &["unset", "split-string"],
        operands: Operands::Text,
        ..READS
    },
    Profile {
        names: &[
            "watch", "parallel", "timeout", "nice", "nohup", "setsid", "stdbuf", "ionice", "time", "exec",
            "builtin", "busybox", "toybox", "chrt", "taskset",
        ],
        operands: Operands::Text,
        ..READS
    },
    Profile {
        names: &["docker", "podman", "nerdctl", "docker-compose"],
        short: "teulwnp",
        text: "teulwnp",
        long: &[
            "tag",
            "format",
            "filter",
            "label",
            "name",
            "env",
            "workdir",
            "user",
            "build-arg",
            "platform",
            "target",
        ],
        text_long: &[
            "tag",
            "format",
            "filter",
            "label",
            "name",
            "env",
            "workdir",
            "user",
            "build-arg",
            "platform",
            "target",
            "network",
        ],
        ..WRITES
    },
    Profile {
        names: &["xmllint", "xmlstarlet", "xpath", "hxselect", "htmlq"],
        long: &["xpath"],
        text_long: &["xpath"],
        short: "tvme",
        text: "tvme",
        ..WRITES
    },
];
