//! What the arguments of everyday programs are: files, or text that only looks like files.
//!
//! A program that is not listed gets no benefit of the doubt: each of its arguments is a path that it may write.
//!
//! Invariant: a listing only ever says that an argument is *not* a file, or that a file is only read.

use crate::intent::Access;

/// Whether the first operand is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// It is a file like the others.
    File,
    /// It is text.
    Text,
    /// It is text, unless one of these options gives the text.
    TextUnless(&'static str, &'static [&'static str]),
}

/// What the operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Files, used in this way.
    Files(Access),
    /// Files to read, the last one written.
    IntoLast,
    /// Text.
    Text,
}

/// One program's arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Profile {
    pub(super) names: &'static [&'static str],
    /// Short options that take a value.
    pub(super) short: &'static str,
    /// Long options that take a value as their next argument.
    pub(super) long: &'static [&'static str],
    /// Those whose value is text.
    pub(super) text: &'static str,
    pub(super) text_long: &'static [&'static str],
    /// Those whose value is written.
    pub(super) out: &'static str,
    pub(super) out_long: &'static [&'static str],
    pub(super) first: First,
    pub(super) operands: Operands,
}

const READS: Profile = Profile {
    names: &[],
    short: "",
    long: &[],
    text: "",
    text_long: &[],
    out: "",
    out_long: &[],
    first: First::File,
    operands: Operands::Files(Access::Read),
};
const WRITES: Profile = Profile { operands: Operands::Files(Access::Write), ..READS };
const TEXT: Profile = Profile { operands: Operands::Text, ..READS };
const INTO: Profile = Profile { operands: Operands::IntoLast, ..READS };

/// Any other program.
pub(super) const UNKNOWN: Profile = WRITES;

/// The programs that are known.
pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &[
            "echo",
            "printf",
            ":",
            "true",
            "false",
            "sleep",
            "seq",
            "expr",
            "basename",
            "dirname",
            "man",
            "which",
            "type",
            "whereis",
            "help",
            "kill",
            "yes",
            "numfmt",
            "tput",
            "id",
            "whoami",
            "groups",
            "dig",
            "host",
            "nslookup",
            "ping",
            "cal",
            "factor",
            "jobs",
            "wait",
            "uname",
            "hostname",
            "printenv",
            "logger",
            "apropos",
            "whatis",
            "getent",
            "systemctl",
            "journalctl",
            "loginctl",
            "ps",
            "pgrep",
            "pidof",
            "uptime",
            "free",
            "shopt",
            "umask",
            "ulimit",
            "return",
            "break",
            "continue",
            "shift",
            "locale",
            "getconf",
            "stty",
            "tr",
            "notify-send",
            "last",
            "who",
            "w",
            "lsof",
            "ss",
            "netstat",
            "ip",
            "nc",
            "ncat",
            "telnet",
            "arch",
            "nproc",
            "tty",
            "users",
            "caller",
            "times",
            "history",
            "fg",
            "bg",
            "disown",
            "dirs",
            "bc",
            "figlet",
            "cowsay",
            "apt-cache",
            "traceroute",
            "whois",
            "command",
        ],
        ..TEXT
    },
    Profile {
        names: &[
            "cat",
            "head",
            "tail",
            "less",
            "more",
            "wc",
            "ls",
            "stat",
            "file",
            "md5sum",
            "sha1sum",
            "sha256sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "sum",
            "xxd",
            "hexdump",
            "strings",
            "base64",
            "base32",
            "tac",
            "rev",
            "nl",
            "tree",
            "du",
            "df",
            "realpath",
            "readlink",
            "cmp",
            "comm",
            "uniq",
            "expand",
            "unexpand",
            "fmt",
            "pr",
            "zcat",
            "bzcat",
            "xzcat",
            "view",
            "bat",
            "source",
            ".",
            "test",
            "[",
            "lsattr",
            "getfacl",
            "ldd",
            "nm",
            "objdump",
            "readelf",
            "size",
        ],
        short: "ncwIPT",
        text: "ncwIPT",
        long: &["ignore", "max-depth", "exclude", "time-style", "lines", "bytes"],
        text_long: &[
            "ignore",
            "max-depth",
            "exclude",
            "time-style",
            "lines",
            "bytes",
            "format",
            "printf",
            "hide",
            "block-size",
        ],
        ..READS
    },
    Profile { names: &["od"], short: "AjNStw", text: "AjNStw", ..READS },
    Profile {
        names: &["diff", "sdiff", "colordiff"],
        short: "IUCWxF",
        text: "IUCWxF",
        long: &["label"],
        text_long: &["label", "exclude"],
        ..READS
    },
    Profile {
        names: &["cut"],
        short: "bcdf",
        text: "bcdf",
        text_long: &["delimiter", "fields", "output-delimiter"],
        ..READS
    },
    Profile { names: &["paste"], short: "d", text: "d", text_long: &["delimiters"], ..READS },
    Profile {
        names: &["fold", "shuf", "column", "join"],
        short: "wnstoeaijNRHEcv12",
        text: "wnsteaijNRHEcv12",
        out: "o",
        ..READS
    },
    Profile {
        names: &["sort"],
        short: "tkoSTm",
        text: "tkS",
        out: "oT",
        out_long: &["output", "temporary-directory"],
        long: &["output", "field-separator", "key", "temporary-directory"],
        text_long: &["field-separator", "key"],
        ..READS
    },
    Profile {
        names: &["grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep", "rgrep"],
        short: "efmABCdD",
        text: "emABCdD",
        long: &[
            "regexp",
            "file",
            "include",
            "exclude",
            "exclude-dir",
            "max-count",
            "after-context",
            "before-context",
            "context",
            "color",
            "label",
        ],
        text_long: &[
            "regexp",
            "include",
            "exclude",
            "exclude-dir",
            "max-count",
            "after-context",
            "before-context",
            "context",
            "color",
            "colour",
            "label",
            "binary-files",
        ],
        first: First::TextUnless("ef", &["regexp", "file"]),
        ..READS
    },
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

/// What is known of a program.
pub(super) fn of(name: &str) -> &'static Profile {
    let name = if name.starts_with("python") { "python" } else { name };
    PROFILES.iter().find(|profile| profile.names.contains(&name)).unwrap_or(&UNKNOWN)
}
