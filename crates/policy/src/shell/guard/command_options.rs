//! Options of everyday programs that are commands: a compressor, a filter, a pager, an editor
//! command.
//!
//! A string that one of these programs passes to a shell is parsed like the line itself.

use super::builtins::Language;
use super::dispatch::Invocation;
use super::interpreter::{Input, Interpreter};
use super::options::{Grammar, NamedCommand, is_abbreviation};
use super::partial_word::PartialWord;
use super::simple::Scope;
use super::state::{State, Variable};
use crate::intent::Access;
use std::rc::Rc;

/// A program and its options whose value a shell runs.
struct Code {
    names: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
}

const CODE: &[Code] = &[
    Code {
        names: &["tar", "bsdtar", "gtar"],
        short: "IF",
        long: &[
            "to-command",
            "use-compress-program",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
        ],
    },
    Code { names: &["split"], short: "", long: &["filter"] },
    Code { names: &["sort"], short: "", long: &["compress-program"] },
    Code { names: &["man"], short: "PH", long: &["pager", "html"] },
    Code { names: &["tcpdump"], short: "z", long: &["postrotate-command"] },
    Code { names: &["zip"], short: "", long: &["unzip-command"] },
    Code { names: &["wget"], short: "", long: &["use-askpass"] },
    Code { names: &["nodemon", "entr", "watchexec", "cargo-watch"], short: "xs", long: &["exec", "shell"] },
    Code { names: &["rsync"], short: "", long: &["rsync-path"] },
    Code { names: &["go"], short: "", long: &["exec", "toolexec"] },
];

impl Interpreter<'_> {
    /// Judges the commands in a program's options.
    pub(super) fn judge_command_options(
        &mut self,
        call: &NamedCommand<'_>,
        invocation: &Invocation<'_>,
        state: &Rc<State>,
    ) {
        if let Some(known) = CODE.iter().find(|known| known.names.contains(&call.name)) {
            let grammar = Grammar { short: known.short, long: known.long, ..Grammar::default() };
            for code in call.values(&grammar, known.short, known.long) {
                self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
            }
        }
        if matches!(call.name, "make" | "gmake" | "awk" | "gawk" | "sed" | "psql" | "vim") {
            let grammar = Grammar { short: "fS", long: &["file", "makefile"], ..Grammar::default() };
            for script in call.values(&grammar, "fS", &["file", "makefile"]) {
                for place in self.judge_path(script, Access::Read, state) {
                    self.run_file(&place, Language::Other, state, invocation);
                }
            }
        }
        match call.name {
            "tar" | "bsdtar" | "gtar" => self.tar_actions(call, state),
            "make" | "gmake" => {
                for arg in call.args.iter().map(PartialWord::as_str) {
                    if let Some((name @ ("CC" | "CXX" | "CPP" | "FC" | "LD" | "AR" | "AS"), code)) =
                        arg.split_once('=')
                    {
                        let value = Variable::Scalar(vec![PartialWord::text(code)]);
                        self.judge_environment(name, &value, state, Scope::Command);
                    }
                }
            }
            "gcc" | "g++" | "cc" | "c++" => {
                let at = call.args.iter().position(|arg| arg.as_str() == "-wrapper");
                if let Some(code) = at.and_then(|at| call.args.get(at + 1)) {
                    let argv: Vec<PartialWord> = code.as_str().split(',').map(PartialWord::text).collect();
                    self.invoke(
                        &Invocation { argv: &argv, input: invocation.input, span: None },
                        state.clone(),
                    );
                }
            }
            "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" | "less" | "more" | "ed" => {
                self.judge_editor_commands(call, state)
            }
            "psql" | "sqlite3" | "mysql" | "mariadb" | "gdb" | "dc" | "lftp" | "ftp" => {
                self.judge_shell_escapes(call, state)
            }
            "emacs" | "emacsclient" => {
                for (at, arg) in call.args.iter().enumerate() {
                    if matches!(arg.as_str(), "--eval" | "-eval" | "-e" | "--execute")
                        && let Some(code) = call.args.get(at + 1)
                    {
                        self.judge_code(code, Language::Other, state);
                    }
                }
            }
            "zip" => {
                let at = call.args.iter().position(|arg| arg.as_str() == "-TT");
                if let Some(code) = at.and_then(|at| call.args.get(at + 1)) {
                    self.interpret_with_sh(code, state, &Input::Inherited);
                }
            }
            "xterm" | "konsole" | "gnome-terminal" | "alacritty" | "kitty" => {
                if let Some(at) = call.args.iter().position(|arg| matches!(arg.as_str(), "-e" | "--" | "-x"))
                {
                    self.invoke(
                        &Invocation { argv: &call.args[at + 1..], input: invocation.input, span: None },
                        state.clone(),
                    );
                }
            }
            "tmux" | "screen" => {
                for word in call.args.iter().filter(|arg| arg.as_str().contains(' ')) {
                    self.interpret_with_sh(word, state, &Input::Inherited);
                }
                let at =
                    call.args.iter().rposition(|arg| arg.as_str().starts_with('-')).map_or(1, |at| at + 1);
                if let Some(argv) = call.args.get(at..).filter(|argv| argv.len() > 1) {
                    self.invoke(&Invocation { argv, input: invocation.input, span: None }, state.clone());
                }
            }
            _ => {}
        }
    }

    fn tar_actions(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let mut args = call.args.iter().map(PartialWord::as_str);
        while let Some(arg) = args.next() {
            let Some(long) = arg.strip_prefix("--") else { continue };
            let (name, glued) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if name.len() > "checkpoint".len() && is_abbreviation(name, "checkpoint-action") {
                let action = glued.or_else(|| args.next()).unwrap_or_default();
                if let Some(code) = action.strip_prefix("exec=") {
                    self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
                }
            }
        }
    }

    /// `-c`, `--cmd`, `+…`: editor commands, of which `!` runs a shell.
    fn judge_editor_commands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let grammar = Grammar { short: "cS", long: &["cmd"], ..Grammar::default() };
        let mut commands = call.values(&grammar, "c", &["cmd"]);
        commands.extend(call.args.iter().filter_map(|arg| arg.as_str().strip_prefix('+')));
        for command in commands {
            if let Some((_, code)) = command.split_once('!') {
                self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
            }
            let foreign = ["system(", "lua", "py", "perl", "ruby", "tcl"];
            if foreign.iter().any(|mark| command.contains(mark)) {
                self.judge_code(&PartialWord::text(command), Language::Other, state);
            }
            // `:w file`, `:r file`, `:e file`: a first word with a slash is a search.
            for file in command.split_whitespace().skip(1).filter(|word| word.starts_with(['/', '~', '.'])) {
                self.judge_path(&self.expand_home(file, state), Access::Write, state);
            }
        }
        self.judge_shell_escapes(call, state);
    }

    /// `\!`, `!`, `system`, `shell`: how a program's own language runs a shell.
    fn judge_shell_escapes(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let typed = match call.input {
            Input::Text(text) | Input::Piped(text) => text.known().unwrap_or_default(),
            _ => "",
        };
        for arg in call.args.iter().map(PartialWord::as_str).chain(typed.lines()) {
            let trimmed = arg.trim_start();
            let code = ["\\!", "!", "shell ", "system ", ".shell ", ".system "]
                .iter()
                .find_map(|mark| trimmed.strip_prefix(mark));
            if let Some(code) = ["python ", "py "].iter().find_map(|mark| trimmed.strip_prefix(mark)) {
                self.judge_code(&PartialWord::text(code), Language::Other, state);
            }
            if let Some(code) = code.or_else(|| arg.split_once("\\!").map(|(_, code)| code)) {
                self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
            }
        }
    }
}
