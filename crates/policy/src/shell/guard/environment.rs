//! Variables that make other programs run something. A value that a program would run is judged as
//! a command.

use super::builtins::Language;
use super::interpreter::{Input, Interpreter};
use super::partial_word::PartialWord;
use super::programs::has_word;
use super::simple::Scope;
use super::state::{State, Variable};
use crate::intent::Access;
use std::rc::Rc;

/// Variables that load code into a program, or choose what it runs; a `*` stands for the rest of a
/// name.
const RISKY: &str = "LD_PRELOAD LD_AUDIT LD_ORIGIN_PATH LD_CONFIG LD_DEBUG_OUTPUT LD_PROFILE* DYLD_* BASH* ZDOTDIR VIMINIT \
    EXINIT MYVIMRC PSQLRC MANOPT LESSKEY* RIPGREP_CONFIG_PATH WGETRC CURL_HOME INPUTRC MAKEFILES SHELLOPTS \
    JULIA_LOAD_PATH npm_config_script_shell npm_config_node_options NPM_CONFIG_SCRIPT_SHELL GIT_EXEC_PATH \
    GIT_TEMPLATE_DIR GIT_CONFIG* GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES \
    GIT_PROXY_COMMAND GIT_ALLOW_PROTOCOL GIT_PROTOCOL_FROM_USER GIT_ATTR_SOURCE GIT_SSL_* GIT_TR2_* GIT_REDIRECT_* \
    GIT_TEXTDOMAINDIR GIT_CLONE_PROTECTION_ACTIVE PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT \
    PYTHONEXECUTABLE PYTHONUSERBASE PYTHONPLATLIBDIR PYTHON_PRESITE PERL5SHELL PERLDB_OPTS PERL_MM_OPT PERL_MB_OPT \
    RUBYSHELL RUBYPATH RUBYLIB_PREFIX";
/// Variables among those that only say how much is printed, or where to.
const HARMLESS: &str = "BASHPID BASH_XTRACEFD GIT_CONFIG_NOSYSTEM";
/// Variables that are commands, besides the ends of names below.
const COMMANDS: &str = "PAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE FCEDIT CC CXX CPP FC LD AR AS NVCC RUSTC SHELL \
    MANROFFOPT SUDO_ASKPASS npm_config_editor npm_config_git npm_config_shell npm_config_viewer";
/// Ends of names of variables that are commands.
const COMMAND_ENDS: &str = "_COMMAND _EDITOR PAGER _WRAPPER _RUNNER _LINKER _ASKPASS _BROWSER _EXTERNAL_DIFF _SHELL \
    _RUSTC _PROGRAM _HOOK";
/// Texts that a shell expands before it prints them.
const EXPANDED: &str = "PS0 PS1 PS2 PS3 PS4 MAIL MAILPATH";
/// Options of interpreters, which may be code.
const OPTIONS: &str =
    "PERL5OPT PERL5DB RUBYOPT NODE_OPTIONS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS MAVEN_OPTS";
/// Options of programs in a variable, and those that are harmless.
const PROGRAM_OPTIONS: &[(&str, &str)] = &[
    ("TAR_OPTIONS", "--exclude= --owner --group --numeric-owner --no-same --sort= --mtime= -v -p"),
    ("MAKEFLAGS", "-j -s -k -w --no-print-directory --silent --jobs -O"),
    ("GNUMAKEFLAGS", "-j -s -k -w --no-print-directory --silent --jobs"),
    ("LESS", "-R -F -X -S -i -M -K -r -N -Q"),
    ("GREP_OPTIONS", "--color --exclude --include"),
    ("RSYNC_RSH", "ssh"),
    ("GIT_SSH", "ssh"),
    ("GIT_SSH_COMMAND", "ssh -o -i -p -4 -6 -v"),
];
/// Lists of directories to search for programs, modules or pages.
const LISTS: &str = "PATH MANPATH INFOPATH XDG_DATA_DIRS IFS LS_COLORS";

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
        for value in values.iter().filter(|value| !value.as_str().is_empty()) {
            self.judge_assigned(name, value, state, scope);
        }
    }

    fn judge_assigned(&mut self, name: &str, value: &PartialWord, state: &Rc<State>, scope: Scope) {
        let words = format!("{name}={}", value.as_str());
        let text = value.as_str();
        if let Some((_, harmless)) = PROGRAM_OPTIONS.iter().find(|(variable, _)| *variable == name) {
            let known = |word: &str| {
                !word.starts_with('-')
                    && name.starts_with("MAKE")
                    && word.bytes().all(|b| b.is_ascii_alphabetic())
                    || harmless.split_whitespace().any(|option| word.starts_with(option))
            };
            let ssh = name.starts_with("GIT_SSH") || name == "RSYNC_RSH";
            let mut words_given = text.split_whitespace();
            let safe = if ssh {
                super::git::is_plain_ssh(text)
            } else {
                value.known().is_some() && words_given.all(known)
            };
            if !safe {
                self.report_danger("preload", "gives a program options that may be commands", &words);
            }
        } else if name == "ENV" && text.contains('/') || name == "DIFF" && text.contains('/') {
            self.report_danger("preload", "puts code into a program before its own", &words);
        } else if has_word(COMMANDS, name)
            || COMMAND_ENDS.split_whitespace().any(|end| name.ends_with(end)) && is_upper(name)
        {
            self.interpret_with_sh(value, state, &Input::Inherited);
        } else if has_word(EXPANDED, name) {
            if text.contains(['$', '`']) {
                let code = format!(": <<PICOCLAW_PROMPT\n{text}\nPICOCLAW_PROMPT\n");
                self.store_code(PartialWord::text(code), state);
            }
        } else if has_word(OPTIONS, name) {
            if value.known().is_some() {
                self.judge_code(value, Language::Other, state);
            }
            for mark in ["OnError=", "OnOutOfMemoryError="] {
                if let Some((_, code)) = text.split_once(mark) {
                    self.judge_string(code.trim_matches(['"', '\'']), state);
                }
            }
        } else if name.starts_with("TEXTDOMAIN") {
            // The translation determines what `$"…"` expands to.
            if self.text.contains("$\"") {
                self.report_not_understood("a translation that is chosen on the line", &words);
            }
        } else if is_risky(name, text) {
            self.report_danger("preload", "changes what a program runs", &words);
        } else if scope == Scope::Command && !has_word(LISTS, name) {
            self.judge_exported(value, state);
        }
    }

    /// A program can open the paths in its environment. An empty or unknown value is not a path of
    /// the line's.
    fn judge_exported(&mut self, value: &PartialWord, state: &Rc<State>) {
        if value.is_open() {
            return;
        }
        for part in value.as_str().split(':') {
            if part.starts_with(['/', '~']) && !part.starts_with("//")
                || part.split('/').any(|part| part == "..")
            {
                self.judge_path(part, Access::Read, state);
            }
        }
    }
}

fn is_upper(name: &str) -> bool {
    !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn is_risky(name: &str, value: &str) -> bool {
    // Tracing is switched on by a number, and written to a file by a path.
    if name.starts_with("GIT_TRACE") || name.starts_with("GIT_CURL_VERBOSE") {
        return value.contains('/');
    }
    if matches!(name, "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM") {
        return value != "/dev/null";
    }
    let is_risky =
        |known: &str| known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start));
    RISKY.split_whitespace().any(is_risky) && !has_word(HARMLESS, name)
}
