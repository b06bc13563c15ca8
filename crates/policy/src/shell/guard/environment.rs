//! Variables that make other programs run something. A value that a program would run is judged as
//! a command.

use super::builtins::Language;
use super::interpreter::{Input, Interpreter};
use super::partial_word::PartialWord;
use super::simple::Scope;
use super::state::{State, Variable};
use crate::intent::Access;
use std::rc::Rc;

/// Variables that load code into a program.
const LOADED: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PYTHONSTARTUP",
];
/// Variables that are commands.
const COMMANDS: &[&str] = &[
    "PROMPT_COMMAND",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "FCEDIT",
    "GIT_PROXY_COMMAND",
    "FZF_DEFAULT_COMMAND",
    "FZF_CTRL_T_COMMAND",
    "CC",
    "CXX",
    "CPP",
    "FC",
    "LD",
    "AR",
    "AS",
    "NVCC",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
];
/// Texts that a shell expands before it prints them.
const EXPANDED: &[&str] = &["PS0", "PS1", "PS2", "PS4", "MAIL", "MAILPATH"];
/// Options of interpreters, which may be code.
const OPTIONS: &[&str] = &[
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
];
/// Tables of the shell that map names to commands.
const TABLES: &[&str] = &["BASH_ALIASES", "BASH_CMDS"];
/// Options of tar and make that are commands, as spelled in a variable.
const HIDDEN: &[(&str, &[&str])] = &[
    (
        "TAR_OPTIONS",
        &["checkpoint-action", "to-command", "-I", "compress-program", "-script", "-F", "-command"],
    ),
    ("MAKEFLAGS", &["--eval", "SHELL", "-f", "--file", "--makefile", "-E"]),
    ("GNUMAKEFLAGS", &["--eval", "SHELL", "-f", "--file", "--makefile", "-E"]),
];
/// Lists of directories to search for programs, modules or pages.
const LISTS: &[&str] = &["PATH", "MANPATH", "INFOPATH", "XDG_DATA_DIRS", "IFS", "PS1", "PS2", "LS_COLORS"];

impl Interpreter<'_> {
    /// Judges an assignment that a program will see.
    pub(super) fn judge_environment(
        &mut self,
        name: &str,
        value: &Variable,
        state: &Rc<State>,
        scope: Scope,
    ) {
        let (Variable::Scalar(values) | Variable::Array(values)) = value else { return };
        for value in values {
            let words = format!("{name}={}", value.as_str());
            if value.as_str().is_empty() {
                continue;
            }
            if LOADED.contains(&name) || (name == "ENV" && value.as_str().contains('/')) {
                self.report_danger("preload", "puts code into a program before its own", &words);
            } else if COMMANDS.contains(&name) {
                self.interpret_with_sh(value, state, &Input::Inherited);
            } else if EXPANDED.contains(&name) && value.as_str().contains(['$', '`']) {
                let code = format!(": <<PICOCLAW_PROMPT\n{}\nPICOCLAW_PROMPT\n", value.as_str());
                self.interpret_string(&PartialWord::text(code), state, &Input::Inherited);
            } else if OPTIONS.contains(&name) && value.known().is_some() {
                self.judge_code(value, Language::Other, state);
                for mark in ["OnError=", "OnOutOfMemoryError="] {
                    if let Some((_, code)) = value.as_str().split_once(mark) {
                        self.judge_string(code.trim_matches(['"', '\'']), state);
                    }
                }
            } else if TABLES.contains(&name) || name == "GIT_CONFIG_PARAMETERS" {
                self.report_not_understood("a table that says what a name runs", &words);
            } else if name.starts_with("TEXTDOMAIN") {
                // The translation determines what `$"…"` expands to.
                if self.text.contains("$\"") {
                    self.report_not_understood("a translation that is chosen on the line", &words);
                }
            } else if name.starts_with("GIT_CONFIG_VALUE_") {
                self.judge_string(value.as_str().trim_start_matches('!'), state);
            } else if HIDDEN.iter().any(|(variable, marks)| {
                *variable == name && marks.iter().any(|mark| value.as_str().contains(mark))
            }) {
                self.report_danger("preload", "gives a program options that are commands", &words);
            } else if matches!(name, "GIT_SSH_COMMAND" | "GIT_SSH" | "RSYNC_RSH") {
                if value
                    .as_str()
                    .split_whitespace()
                    .next()
                    .is_none_or(|name| name.rsplit('/').next() != Some("ssh"))
                {
                    self.report_danger("preload", "runs a command instead of ssh", &words);
                }
            } else if let Some(function) = name.strip_prefix("BASH_FUNC_") {
                self.report_danger("preload", "smuggles a function into a shell", function);
            } else if scope == Scope::Command && !LISTS.contains(&name) {
                self.judge_exported(value, state);
            }
        }
    }

    /// A program can open the paths in its environment. An empty or unknown value is not a path of
    /// the line's.
    fn judge_exported(&mut self, value: &PartialWord, state: &Rc<State>) {
        let text = value.as_str();
        if text.is_empty() || value.is_open() {
            return;
        }
        for part in text.split(':') {
            if part.starts_with(['/', '~']) && !part.starts_with("//")
                || part.split('/').any(|part| part == "..")
            {
                self.judge_path(part, Access::Read, state);
            }
        }
    }
}
