//! Code of other languages, as far as its text shows its effects.
//!
//! This is not a parser of Python or Perl: it looks for calls that pass a string to a shell, delete
//! trees or start processes without end, and for literal paths. What is computed at run time is
//! left to the kernel's confinement. A literal command meets the same rules as on the line itself.

use super::awk;
use super::builtins::Language;
use super::finding::Kind;
use super::interpreter::{Input, Interpreter, MAX_NESTING};
use super::options::NamedCommand;
use super::partial_word::{ANYTHING, CLASS, DOWNLOADED, ONE, PartialWord, STAR, is_marked};
use super::programs::{contains_any, has_word};
use super::state::State;
use crate::intent::Access;
use crate::path::CleanPath;
use crate::shell::{Dialect, parse};
use std::path::Path;
use std::rc::Rc;

/// Calls that pass text to a shell, or start a program.
const SHELLS_OUT: &str = "os.system|subprocess|popen|Popen|commands.get|pty.spawn|os.exec|os.spawn|posix_spawn|system(|\
    system |exec(|exec |execSync|execFile|spawn|child_process|shell_exec|passthru|proc_open|os.execute|io.popen|\
    Kernel.|%x|qx|`|Open3|IO.popen|Runtime|do shell script|shell-command|call-process|Deno.run|Deno.Command|\
    Bun.spawn|Process.|.execute(|os:cmd|:os.cmd|open_port|System.cmd|System.shell|system*|\
    \"system\"|'system'|pipepager|IMAP4_stream|webbrowser.get|exec {|exec @";
/// Quotes of perl and ruby.
const QUOTES: &[(&str, &str)] = &[
    ("qx(", ")"),
    ("qx{", "}"),
    ("q(", ")"),
    ("q{", "}"),
    ("q[", "]"),
    ("qq(", ")"),
    ("qq{", "}"),
    ("%x{", "}"),
    ("%q(", ")"),
];
/// Code that a rule refuses: it contains a sign of every group.
const REFUSED: &[(&str, &str, &[&str])] = &[
    (
        "inline-deletion",
        "this code deletes a whole tree",
        &["rmtree|rm_rf|rm_r(|rm_r |remove_tree|remove_dir_all|removedirs|rimraf|fs.rm(|deleteDirectory|\
           delete-directory|RemoveAll|unlink -r|unlink <|unlink glob|unlink(glob|unlink @|finddepth|file delete -force"],
    ),
    (
        "inline-deletion",
        "this code deletes a whole tree",
        &["recursive", "rmSync|rmdirSync|rmdir(|rm(|Deno.remove"],
    ),
    (
        "inline-deletion",
        "this code deletes every file of a list",
        &["os.remove|os.unlink|unlink(|unlinkSync|.unlink", "for |while|forEach|map|walk(|each"],
    ),
    ("inline-shell", "this code runs commands of a shell", &["syscmd"]),
    ("remote-shell", "this code opens a connection of its own", &["/inet/tcp|/inet/udp"]),
    (
        "inline-privilege",
        "this code changes owners or identities",
        &["setuid(|setgid(|os.chown|seteuid(|chown(|os.chroot|chroot("],
    ),
    (
        "permissions",
        "this code lets a file run as its owner",
        &["chmod", "0o4|0o2|0o6|04777|04755|04711|02755|06755"],
    ),
    ("fork-bomb", "this code starts processes in a loop", &["fork", "while|for |loop|until"]),
    (
        "forced-kill",
        "this code ends processes by force",
        &["kill", "SIGKILL|,9)|, 9)|kill 9|KILL|(9,|(9 ,|-9,|=9)"],
    ),
    (
        "inline-download",
        "this code runs what it fetches or decodes",
        &["exec(|eval(|(eval)", "urlopen|requests.|http|b64decode|atob(|fetch(|decode("],
    ),
];
/// Calls that run a string as code of the same language, without blanks.
const EVALUATES: &str = "exec(|eval(|execfile(|FunctionType(|eval<|evalSTDIN|eval$stdin|evalgets|evalARGF|evaljoin|\
    evalshift|load(io.|loadstring(|newFunction(|runpy.|code.interact(";
/// Calls with such a name that run nothing: of Python's values and of JavaScript's patterns.
const HARMLESS_CALLS: &[&str] = &["literal_eval(", ".exec("];
/// What code is given from outside: its input, its arguments, its environment.
const GIVEN: &str = "input(|stdin|STDIN|open(0|read(0|readFileSync(0|io.read|io.lines|gets|getpass(|<>|ARGF|shift|ARGV|\
    argv|fd/0|environ|getenv|process.env";
/// Calls that run a string as a command, and the strings from outside that they may have.
const RUNS_COMMAND: &[&str] = &["system(", "popen(", "Popen(", "run(", "call(", "output("];
const GIVEN_FIRST: &[&str] = &["input(", "sys.stdin", "sys.argv", "open(0", "os.environ", "os.getenv"];

/// Words before the name of a file or module that is run.
const LOADS: &str = "import from use require do r";
/// Calls that run a string, with or without brackets, and what is read or given.
const RUNS_WORDS: &[&str] = &["system", "exec", "popen", "qx", "`"];
const GIVEN_WORDS: &[&str] =
    &["$_", "@ARGV", "$ARGV[", "shift", "<STDIN>", "@_", "$ENV{", "{*}$argv", "{$_", "{shift"];

/// Top-level directories: a string that begins with one is a path in any language.
const TOPS: &str =
    "etc home root var usr proc sys dev tmp opt srv mnt boot run media bin sbin lib lib64 Users snap";

/// Longer strings are text, not commands.
const MAX_STRING_LEN: usize = 4096;
/// Maximum number of strings of one line that are parsed as commands.
const MAX_STRINGS: usize = 200;

impl Interpreter<'_> {
    /// Whether a part of this code may stay unknown: where the kernel holds commands, it does no
    /// more than a script that is read from a file. What is known is judged. A download, and a text
    /// of which nothing is known, may not.
    pub(super) fn is_partly_known(&self, code: &str) -> bool {
        self.is_walled()
            && !code.contains([DOWNLOADED, STAR, ONE, CLASS])
            && code.contains(|c: char| c.is_ascii_alphanumeric())
    }

    /// Judges code by its text.
    pub(super) fn judge_code(&mut self, code: &PartialWord, language: Language, state: &Rc<State>) {
        let text = code.as_str();
        // It is searched for every sign.
        self.count_bytes(2 * text.len());
        if code.is_open() && language == Language::Other && !self.is_partly_known(text) {
            return self.report_computed("unknown-code", "this code", text);
        }
        for (rule, why, groups) in REFUSED {
            if groups.iter().all(|signs| contains_any(text, signs)) {
                self.report_danger(rule, why, text);
            }
        }
        if contains_any(&text.to_ascii_lowercase(), "socket|fsockopen|net.connect|tcpstream")
            && contains_any(text, "dup2|pty.spawn|/bin/sh|/bin/bash|exec(|exec \"|spawn(")
        {
            self.report_danger("remote-shell", "this code ties a shell to a connection", text);
        }
        if runs_given_code(text) {
            self.report_danger("unknown-code", "this code runs code that it reads or is given", text);
        }
        if language == Language::Awk && awk::has_computed_command(text) {
            self.report_computed("unknown-code", "a command of this program of awk", text);
        }
        let literals = literals(text);
        let strings: Vec<String> = literals.iter().map(|literal| literal.text.clone()).collect();
        // A pipe to or from a string: awk's `"cmd" | getline`, perl's `open(F, "cmd |")`, gnuplot's
        // `plot "< cmd"`.
        let plots = text.contains("plot");
        for literal in &literals {
            let inner = literal.text.trim();
            if literal.piped
                || (language == Language::Other
                    && (inner.ends_with('|') || inner.starts_with('|') || (plots && inner.starts_with('<'))))
            {
                let feeds = literal.fed && language == Language::Awk || inner.starts_with('|');
                self.judge_piped_string(inner.trim_matches(['|', '<']), feeds, state);
            }
        }
        // `open(F, "|-", "sh")` of perl.
        for row in join_rows(&literals) {
            if let Some(command) = row.strip_prefix("|- ").or_else(|| row.strip_prefix("-| ")) {
                self.judge_piped_string(command, row.starts_with('|'), state);
            }
        }
        // Code in a string of code: `exec("…")`, `eval("…")`.
        if language == Language::Other && contains_any(text, "exec(|eval(|eval |compile(") {
            for literal in literals.iter().filter(|literal| literal.text.contains(['"', '\''])) {
                self.judge_code(&PartialWord::text(literal.text.as_str()), language, state);
            }
        }
        let calls = if language == Language::Awk { "system(" } else { SHELLS_OUT };
        let runs = contains_any(text, calls);
        if runs {
            for string in strings.iter().chain(&join_rows(&literals)) {
                self.judge_string(string, state);
            }
            for quoted in between(text, '`')
                .chain(between_words(text, "%x(", ")"))
                .chain(QUOTES.iter().flat_map(|(open, close)| between_words(text, open, close)))
            {
                self.judge_string(quoted, state);
            }
        }
        if language == Language::Other {
            tcl_commands(text).for_each(|command| self.judge_string(command, state));
            self.run_loaded(text, state);
        }
        if self.strings > MAX_STRINGS {
            self.report_not_understood("code that hands too many strings to a shell", "");
        }
        match language {
            // A string is a file only where something is opened by name.
            Language::Awk if contains_any(text, "getline|>|ARG|@|close(") => {
                strings.iter().for_each(|string| self.judge_paths_in_code(string, true, state));
            }
            Language::Awk => {}
            _ => {
                // Text within a longer string is a path only where a shell may run that string.
                let runs = runs || QUOTES.iter().any(|(open, _)| text.contains(open));
                self.judge_paths_in_code(text, runs, state);
            }
        }
        let lists_dirs = contains_any(text, "listdir|scandir|walk(|chdir|readdir|glob(|opendir");
        if lists_dirs && language != Language::Awk {
            for string in strings.iter().filter(|string| matches!(string.as_str(), "/" | ".." | "~")) {
                let path = if string == "~" { "/~" } else { string };
                self.judge_path(path, Access::Read, state);
            }
        }
    }

    /// Runs the files that this line has written and that the code loads by name: `require("./x")`,
    /// `import x`.
    fn run_loaded(&mut self, text: &str, state: &Rc<State>) {
        self.depth += 1;
        if !state.files.is_empty() && self.depth <= MAX_NESTING && self.count_step() {
            let words = [PartialWord::text(text)];
            let call = NamedCommand { name: "", args: &[], input: &Input::Inherited, argv: &words };
            let mut before = "";
            for word in text.split(|c: char| c.is_whitespace() || "()[]{}\"';,".contains(c)) {
                let opened = before == "open" && contains_any(text, "exec(open|eval(open");
                let loads = opened || has_word(LOADS, before.trim_start_matches('-'));
                if loads && !word.is_empty() && !word.ends_with(".json") && self.count_step() {
                    self.run_module(&word.replace("::", "/"), &call, state);
                }
                before = if word.is_empty() { before } else { word };
            }
        }
        self.depth -= 1;
    }

    /// Judges a string as if it were a command, and keeps only findings of danger.
    pub(super) fn judge_string(&mut self, string: &str, state: &Rc<State>) {
        self.judge_piped_string(string, false, state);
    }

    /// The same for a command that the code feeds through a pipe.
    fn judge_piped_string(&mut self, string: &str, is_fed: bool, state: &Rc<State>) {
        if string.trim().is_empty() || is_marked(string) || string.len() > MAX_STRING_LEN {
            return;
        }
        self.strings += 1;
        if self.strings > MAX_STRINGS {
            return;
        }
        // Where the shells differ, bash's grammar is better than none: this looks for what is
        // plainly there.
        let readable =
            [Dialect::Posix, Dialect::Bash].into_iter().find(|dialect| parse(string, *dialect).is_ok());
        let Some(dialect) = readable else { return };
        let known = self.commands.len();
        let before = std::mem::take(&mut self.findings);
        let seen = std::mem::take(&mut self.seen);
        let input = if is_fed { Input::Piped(PartialWord::gap(ANYTHING)) } else { Input::Inherited };
        self.interpret_as(dialect, &PartialWord::text(string), state, &input);
        let found = std::mem::replace(&mut self.findings, before);
        self.seen = seen;
        self.commands.truncate(known);
        found
            .into_iter()
            .filter(|finding| finding.kind == Kind::Danger)
            .for_each(|finding| self.report(finding));
    }

    /// Judges every path that begins a string, or every path at all.
    fn judge_paths_in_code(&mut self, text: &str, anywhere: bool, state: &Rc<State>) {
        let is_part = |c: char| c.is_alphanumeric() || "_./~@%+-".contains(c);
        let mut before = '"';
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            if start > 0 {
                before = rest[..start].chars().next_back().unwrap_or(' ');
            }
            let tail = &rest[start..];
            let end = tail.find(|c| !is_part(c)).unwrap_or(tail.len());
            let run = &tail[..end];
            let clean = run.starts_with('/').then(|| CleanPath::absolute(Path::new(run))).flatten();
            let first = clean.as_ref().and_then(|path| path.as_path().components().nth(1));
            let top =
                first.and_then(|name| name.as_os_str().to_str()).is_some_and(|name| has_word(TOPS, name));
            let climbs = run.split('/').any(|part| part == "..") && run.contains('/');
            let begins = anywhere || !before.is_whitespace();
            if begins && ((top && before != ':') || climbs) {
                self.judge_path(run, Access::Read, state);
            } else if begins && run.starts_with("~/") {
                self.judge_path(&self.expand_home(run, state), Access::Read, state);
            }
            before = run.chars().next_back().unwrap_or(' ');
            rest = &tail[end..];
        }
    }
}

/// Whether code runs what it reads or is given, which its text does not show.
fn runs_given_code(text: &str) -> bool {
    let mut dense: String = text.split_whitespace().collect();
    if RUNS_COMMAND
        .iter()
        .any(|run| dense.split(run).skip(1).any(|arg| GIVEN_FIRST.iter().any(|given| arg.starts_with(given))))
        || contains_any(&dense, "eval$_|eval($_)|eval`|system`")
        || RUNS_WORDS.iter().any(|run| {
            dense.split(run).skip(1).any(|arg| {
                let arg = arg.trim_start_matches(['(', '"', '\'']);
                GIVEN_WORDS.iter().any(|given| arg.starts_with(given))
            })
        })
    {
        return true;
    }
    if !contains_any(&dense, GIVEN) {
        return false;
    }
    if contains_any(&dense, "builtins.exec(|builtins__.exec(") {
        return true;
    }
    for harmless in HARMLESS_CALLS {
        dense = dense.replace(harmless, "(");
    }
    contains_any(&dense, EVALUATES)
}

/// A string literal and its neighbours.
struct Literal {
    text: String,
    /// A pipe, on either side.
    piped: bool,
    /// One before it: a command that the code feeds.
    fed: bool,
    /// Nothing but commas, blanks and `[` between it and the literal before.
    follows: bool,
}

/// The string literals of a text, in any of the usual quotes.
fn literals(text: &str) -> Vec<Literal> {
    let mut all: Vec<Literal> = Vec::new();
    let (mut before, mut follows) = (' ', false);
    let mut chars = text.chars();
    while let Some(open) = chars.next() {
        if !matches!(open, '"' | '\'') {
            follows &= open.is_whitespace() || matches!(open, ',' | '[');
            // awk's `|&` is a pipe, too.
            let two_way = before == '|' && open == '&';
            before = if open.is_whitespace() || two_way { before } else { open };
            continue;
        }
        let mut string = String::new();
        let mut closed = false;
        while let Some(c) = chars.next() {
            match c {
                '\\' => string.extend(chars.next()),
                c if c == open => {
                    closed = true;
                    break;
                }
                c => string.push(c),
            }
        }
        if closed {
            let after = chars.as_str().trim_start();
            let piped = before == '|' || (after.starts_with('|') && !after.starts_with("||"));
            all.push(Literal { text: string, piped, fed: before == '|', follows });
        }
        before = open;
        follows = true;
    }
    all
}

/// `"rm", "-rf", "x"`: consecutive strings, joined to one command.
fn join_rows(literals: &[Literal]) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for literal in literals {
        match rows.last_mut() {
            Some(row) if literal.follows => {
                row.push(' ');
                row.push_str(&literal.text);
            }
            _ => rows.push(literal.text.clone()),
        }
    }
    rows
}

/// `exec rm x`, `spawn rm x`, `open |[list rm x]`: how Tcl runs a command, without quotes.
fn tcl_commands(text: &str) -> impl Iterator<Item = &str> {
    ["exec ", "spawn ", "open |", "open {|"].into_iter().flat_map(move |call| {
        text.split(call).skip(1).map(|rest| {
            let rest = rest.trim_start_matches("{*}").trim_start_matches(['{', '[']);
            let rest = rest.strip_prefix("list ").unwrap_or(rest);
            rest.split(['\n', ';', ']', '}']).next().unwrap_or_default()
        })
    })
}

fn between(text: &str, quote: char) -> impl Iterator<Item = &str> {
    text.split(quote).skip(1).step_by(2)
}

pub(super) fn between_words<'t>(
    text: &'t str,
    open: &'static str,
    close: &'static str,
) -> impl Iterator<Item = &'t str> {
    text.split(open).skip(1).filter_map(move |rest| rest.split_once(close).map(|(inside, _)| inside))
}
