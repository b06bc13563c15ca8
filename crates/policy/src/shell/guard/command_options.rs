//! Options of everyday programs that are commands: a compressor, a filter, a pager, an editor
//! command.
//!
//! A string that one of these programs passes to a shell is parsed like the line itself.

use super::builtins::Language;
use super::inline_code::between_words;
use super::interpreter::{Input, Interpreter};
use super::options::NamedCommand;
use super::partial_word::{PartialWord, is_marked};
use super::programs::{contains_any, has_word};
use super::simple::Scope;
use super::state::{Content, State, Variable};
use crate::intent::Access;
use crate::shell::Dialect;
use std::rc::Rc;

/// Options of m4 with a value.
pub(super) const M4: &str =
    "D U I B F R t o L define undefine include freeze-state reload-state trace debugfile arglength";

/// Programs, and the files that they run by themselves.
const IMPLICIT: &[(&str, &str)] = &[
    ("make gmake", "Makefile makefile GNUmakefile"),
    ("npm pnpm yarn bun", "package.json"),
    ("pytest py.test", "conftest.py"),
    ("pip pip3", "setup.py pyproject.toml"),
    ("cmake", "CMakeLists.txt"),
    ("cargo", "build.rs"),
];

impl Interpreter<'_> {
    /// Judges the commands in a program's options.
    pub(super) fn judge_command_options(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        if matches!(call.name, "make" | "gmake" | "awk" | "gawk" | "sed" | "psql" | "vim") {
            let grammar = "f S file makefile";
            for script in call.values(grammar, "f S file makefile") {
                for place in self.judge_path(script, Access::Read, state) {
                    self.run_file(&place, Language::Other, state, call);
                }
            }
        }
        self.judge_implicit_files(call, state);
        match call.name {
            "tar" | "bsdtar" | "gtar" => self.tar_actions(call, state),
            "make" | "gmake" => {
                let set = |(name, value): (&String, &Variable)| match value {
                    Variable::Scalar(values) => {
                        values.first().map(|value| format!("{name}={}", value.as_str()))
                    }
                    _ => None,
                };
                let given = call.args.iter().map(|arg| arg.as_str().to_owned());
                for arg in given.chain(state.variables.iter().filter_map(set)) {
                    let Some((name, code)) = arg.split_once('=') else { continue };
                    // What a recipe puts into its command may end that, and begin another.
                    if name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
                        && (code.contains([';', '|', '&', '`']) || code.contains("$("))
                        && !is_marked(code)
                    {
                        let code = PartialWord::text(format!(": {code}"));
                        self.interpret_with_sh(&code, state, &Input::Inherited);
                    }
                    let is_command = matches!(name, "CC" | "CXX" | "CPP" | "FC" | "LD" | "AR" | "AS");
                    if is_command || name.contains('.') && !name.contains(['/', '-']) {
                        let value = Variable::Scalar(vec![PartialWord::text(code)]);
                        self.judge_environment(
                            if is_command { name } else { "CC" },
                            &value,
                            state,
                            Scope::Command,
                        );
                    }
                }
            }
            name if ["gcc", "g++", "cc", "c++"].iter().any(|cc| name.split('-').any(|part| part == *cc)) => {
                let at = call.args.iter().position(|arg| arg.as_str() == "-wrapper");
                if let Some(code) = at.and_then(|at| call.args.get(at + 1)) {
                    let argv: Vec<PartialWord> = code.as_str().split(',').map(PartialWord::text).collect();
                    self.run_words(&argv, call.input, state);
                }
            }
            "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" | "less" | "more" | "ed" | "red" | "rvim" => {
                // An editor in a pipe takes commands from it, which open and write files.
                if matches!(call.name, "ed" | "red" | "ex") || call.has("c S u U", "e s") {
                    self.editor_script(call, state);
                }
                self.judge_editor_commands(call, state)
            }
            "m4" | "gm4" => {
                let files = call.operands(M4);
                for file in if files.is_empty() { &["/dev/stdin"] } else { files.as_slice() } {
                    let file = if *file == "-" { "/dev/stdin" } else { file };
                    if let Some(place) = self.resolve_one(file, state) {
                        self.run_file(&place, Language::Other, state, call);
                    }
                }
            }
            "fzf" => {
                for value in call.values("bind", "bind") {
                    // `key:execute(command)`, or `key:execute:command`.
                    let code = between_words(value, "(", ")").chain(value.splitn(3, ':').nth(2));
                    for code in code {
                        self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
                    }
                }
            }
            name if name.starts_with("pip") => {
                for editor in call.values("editor", "editor") {
                    self.interpret_with_sh(&PartialWord::text(editor), state, &Input::Inherited);
                }
            }
            "psql" | "sqlite3" | "mysql" | "mariadb" | "gdb" | "dc" | "lftp" | "ftp" | "gnuplot"
            | "ipython" | "ipython3" => self.judge_shell_escapes(call, state),
            "xterm" | "konsole" | "gnome-terminal" | "alacritty" | "kitty" => {
                if let Some(at) = call.args.iter().position(|arg| matches!(arg.as_str(), "-e" | "--" | "-x"))
                {
                    self.run_words(&call.args[at + 1..], call.input, state);
                }
            }
            "tmux" | "screen" => {
                for word in call.args.iter().filter(|arg| arg.as_str().contains(' ')) {
                    self.interpret_with_sh(word, state, &Input::Inherited);
                }
                let at =
                    call.args.iter().rposition(|arg| arg.as_str().starts_with('-')).map_or(1, |at| at + 1);
                if let Some(argv) = call.args.get(at..).filter(|argv| argv.len() > 1) {
                    self.run_words(argv, call.input, state);
                }
            }
            _ => {}
        }
    }

    /// Files that a program runs without being told.
    fn judge_implicit_files(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        for (place, content) in state.files.iter() {
            let name = place.as_path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let dir = place.as_path().parent().unwrap_or(place.as_path());
            let in_git =
                dir.ends_with("hooks") && !name.contains('.') || place.as_path().ends_with(".git/config");
            if call.name == "git" && in_git || call.name == "run-parts" {
                self.run_file(place, Language::Shell(Dialect::Posix), state, call);
            }
            let runs =
                |(programs, files): &(&str, &str)| has_word(programs, call.name) && has_word(files, name);
            if *content == Content::Downloaded && IMPLICIT.iter().any(runs) {
                self.run_file(place, Language::Other, state, call);
            }
        }
    }

    /// Commands of an editor that come from its input.
    fn editor_script(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        match call.input {
            Input::Inherited => {}
            Input::Text(text) | Input::Piped(text) if text.known().is_some() => {
                for line in text.as_str().lines() {
                    self.editor_command(line, state);
                }
            }
            _ => self.report_not_understood(
                "an editor that takes its commands from a pipe or a file",
                &call.words(),
            ),
        }
    }

    /// `--checkpoint-action=exec=COMMAND`, in one word or in two.
    fn tar_actions(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        for arg in call.args.iter().map(PartialWord::as_str) {
            if let Some((option, code)) = arg.split_once("exec=")
                && (option.is_empty() || option.starts_with("--checkpoint-"))
            {
                self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
            }
        }
    }

    /// `-c`, `--cmd`, `+…`: editor commands, of which `!` runs a shell.
    fn judge_editor_commands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let grammar = "c S cmd";
        let mut commands = call.values(grammar, "c cmd");
        commands.extend(call.args.iter().filter_map(|arg| arg.as_str().strip_prefix('+')));
        for command in commands {
            self.editor_command(command, state);
        }
        self.judge_shell_escapes(call, state);
    }

    /// `!` runs a shell; `:w file`, `:r file`, `:e file` name files.
    fn editor_command(&mut self, command: &str, state: &Rc<State>) {
        if let Some((_, code)) = command.split_once('!') {
            self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
        }
        const FOREIGN: &str = "system(|lua|py|perl|ruby|tcl|execute|readfile(|writefile(|source|so ";
        if contains_any(command, FOREIGN) {
            self.judge_code(&PartialWord::text(command), Language::Other, state);
        }
        // A first word with a slash is a search.
        let words = command.split_whitespace().skip(1).chain(joined_file(command));
        for file in words.filter(|word| word.starts_with(['/', '~', '.'])) {
            self.judge_path(&self.expand_home(file, state), Access::Write, state);
        }
    }

    /// `\!`, `!`, `system`, `shell`: how a program's own language runs a shell.
    fn judge_shell_escapes(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let typed = match call.input {
            Input::Text(text) | Input::Piped(text) => text.known().unwrap_or_default(),
            _ => "",
        };
        let statements = call.args.iter().map(PartialWord::as_str).flat_map(|arg| {
            arg.match_indices(['\n', ';']).map(|(at, _)| &arg[at + 1..]).chain(std::iter::once(arg))
        });
        for arg in statements.chain(typed.lines()) {
            let trimmed = arg.trim_start();
            let code = ["\\!", "!!", "!", "%sx ", "%system ", "shell ", "system ", ".shell ", ".system "]
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

/// `r/etc/passwd`: a file joined to a command of one letter.
fn joined_file(command: &str) -> Option<&str> {
    let command = command.trim_start_matches([':', '0', '$', '.', '%', ',']);
    let file = command.strip_prefix(['r', 'e', 'w', 'E', 'f', 'W'])?;
    file.split_whitespace().next()
}
