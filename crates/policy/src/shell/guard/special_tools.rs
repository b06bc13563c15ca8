//! Programs with their own argument rules: find, sed, awk, dd, ln, tar, sqlite3.
//!
//! Every file that their arguments or scripts name is judged.

use super::arguments::{Argument, parse};
use super::builtins::Language;
use super::finding::Remedy;
use super::interpreter::Interpreter;
use super::options::{NamedCommand, Order};
use super::partial_word::{ANYTHING, PartialWord};
use super::programs::{self, Operands, Program, Role, contains_any};
use super::sed;
use super::state::State;
use super::xargs_find::exec_words;
use crate::intent::Access;
use std::rc::Rc;

impl Interpreter<'_> {
    pub(super) fn find_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let mut args = call.args.iter();
        let mut starts = true;
        while let Some(arg) = args.next().map(PartialWord::as_str) {
            let mut value = || args.next().map(PartialWord::as_str).unwrap_or_default();
            if starts && matches!(arg, "-H" | "-L" | "-P") {
                continue;
            }
            if arg.starts_with('-') || matches!(arg, "(" | "!" | ")" | ",") {
                starts = false;
            } else if starts {
                self.judge_argument(arg, Access::Read, state);
                continue;
            }
            match arg {
                "-files0-from" => {
                    let list = value();
                    self.judge_argument(list, Access::Read, state);
                    self.unknown_path(list);
                }
                "-newer" | "-anewer" | "-cnewer" | "-samefile" => {
                    self.judge_argument(value(), Access::Read, state);
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    self.judge_argument(value(), Access::Write, state);
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    // From the directory of each file, `..` leads anywhere.
                    let words = exec_words(arg, &mut args).iter().map(PartialWord::as_str);
                    words
                        .filter(|word| arg.ends_with("dir") && word.split('/').any(|part| part == ".."))
                        .for_each(|word| self.unknown_path(word));
                }
                _ => {}
            }
        }
    }

    pub(super) fn sed_operands(&mut self, call: &NamedCommand<'_>, program: &Program, state: &Rc<State>) {
        let in_place = |argument: &Argument<'_>| {
            matches!(argument, Argument::Flag(name) if *name == "i" || name.starts_with("in-p"))
                || matches!(argument, Argument::Value { name, .. } if name.starts_with("in-p"))
        };
        let written = parse(call.args, program, Order::Free).0.iter().any(in_place);
        let operands = Operands::All(if written { Role::Write } else { Role::Read });
        self.judge_arguments(call.args, &program.with_operands(operands), state);
        let args = sed::without_suffixes(call.args);
        for script in sed::scripts(&NamedCommand { args: &args, ..*call }) {
            if script.starts_with(ANYTHING) && !self.is_partly_known(script) {
                self.report_computed("unknown-code", "this script of sed", script);
            }
            self.judge_sed_script(script, call, state);
        }
    }

    pub(super) fn judge_sed_script(&mut self, script: &str, call: &NamedCommand<'_>, state: &Rc<State>) {
        for effect in sed::effects(script) {
            match effect {
                sed::Effect::Runs("") => {
                    self.report_danger("sed-exec", "this script of sed runs its lines as commands", script);
                }
                sed::Effect::Runs(code) => {
                    self.report_danger("sed-exec", "this script of sed runs a command", script);
                    self.interpret_with_sh(&PartialWord::text(code), state, call.input);
                }
                sed::Effect::Reads(file) => {
                    self.judge_path(file, Access::Read, state);
                }
                sed::Effect::Writes(file) => {
                    self.judge_path(file, Access::Write, state);
                }
            }
        }
    }

    pub(super) fn awk_programs(&mut self, call: &NamedCommand<'_>, program: &Program, state: &Rc<State>) {
        let (parsed, _) = parse(call.args, program, Order::Free);
        let is_given = |argument: &Argument<'_>| match argument {
            Argument::Value { name, .. } => programs::has_word(program.first_text.unwrap_or_default(), name),
            _ => false,
        };
        let first = (!parsed.iter().any(is_given)).then(|| {
            parsed.iter().find_map(|argument| match argument {
                Argument::Operand(text) => Some(*text),
                _ => None,
            })
        });
        let sources = parsed.iter().filter_map(|argument| match argument {
            Argument::Value { name: "e" | "source", value, .. } => Some(*value),
            _ => None,
        });
        for code in sources.chain(first.flatten()) {
            if code.starts_with(ANYTHING) && !self.is_partly_known(code) {
                self.report_computed("unknown-code", "this program of awk", code);
            }
            self.judge_code(&PartialWord::text(code), Language::Awk, state);
        }
    }

    pub(super) fn dd_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        for arg in call.args.iter().map(PartialWord::as_str) {
            match arg.split_once('=') {
                Some(("of", file)) => self.judge_argument(file, Access::Write, state),
                Some(("if", file)) => self.judge_argument(file, Access::Read, state),
                _ => {}
            }
        }
    }

    /// The target of a symbolic link is resolved from the link's directory, and recorded.
    pub(super) fn ln_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let grammar = "t S target-directory suffix";
        let symbolic = call.has(grammar, "s symbolic");
        for dir in call.values(grammar, "t target-directory") {
            self.judge_argument(dir, Access::Write, state);
        }
        if !symbolic {
            for operand in call.operands(grammar) {
                self.judge_argument(operand, Access::Write, state);
            }
            return;
        }
        for (target, link) in super::effects::parse_links(call) {
            self.judge_argument(&link, Access::Write, state);
            let from = match link.rsplit_once('/') {
                Some((dir, _)) if !target.starts_with('/') && !dir.is_empty() => format!("{dir}/{target}"),
                _ => target.to_owned(),
            };
            self.judge_argument(&from, Access::Read, state);
        }
    }

    pub(super) fn tar_operands(&mut self, call: &NamedCommand<'_>, program: &Program, state: &Rc<State>) {
        let args = tar_arguments(call.args, program);
        self.judge_arguments(&args, program, state);
        // `-C` changes the directory of the operands behind it.
        let mut place = state.clone();
        for argument in parse(&args, program, Order::Free).0 {
            match argument {
                Argument::Value { name: "C" | "directory", value, .. } => {
                    let to = self.judge_directory(value, &place);
                    Rc::make_mut(&mut place).change_dir(to);
                }
                Argument::Operand(file) if !Rc::ptr_eq(&place, state) => {
                    self.judge_argument(file, Access::Read, &place);
                }
                _ => {}
            }
        }
        let given = |letter: char, long: &str| {
            args.iter().map(PartialWord::as_str).any(|arg| match arg.strip_prefix("--") {
                Some(name) => name == long,
                None => arg.starts_with('-') && arg.contains(letter),
            })
        };
        // Only the archive determines where its absolute names lead.
        if given('x', "extract") && given('P', "absolute-names") {
            self.unknown_path("-P");
        }
    }

    /// Curl expands `{a,b}` and `[a-b]` in addresses and in what it uploads, also to `file:`.
    pub(super) fn curl_patterns(&mut self, call: &NamedCommand<'_>, program: &Program) {
        for argument in parse(call.args, program, Order::Free).0 {
            let (text, is_file) = match argument {
                Argument::Operand(url) | Argument::Value { name: "url", value: url, .. } => {
                    let scheme = url.split_once(":/").map_or("", |(scheme, _)| scheme);
                    (url, scheme.contains(['{', '[']))
                }
                Argument::Value { name: "T" | "upload-file", value, .. } => {
                    (value, value.contains(['{', '[']))
                }
                Argument::Value { name: "proto-default", value, .. } => (value, !value.starts_with("http")),
                Argument::Flag("proto-default") => ("--proto-default", true),
                _ => continue,
            };
            if is_file {
                self.report_outside(text, "unknown-path", "it may name a file outside", Remedy::Ask);
            }
        }
    }

    pub(super) fn sqlite_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        const FILE_COMMANDS: &str = ".read .open .import .output .once .backup .restore .save .clone";
        let operands = call.operands("");
        for (at, operand) in operands.iter().enumerate() {
            if at == 0 {
                self.judge_argument(operand, Access::Write, state);
            } else if operand.trim_start().starts_with(".sh") || operand.trim_start().starts_with(".sys") {
                self.report_danger("inline-shell", "a database command that runs a shell", operand);
            } else if let Some((command, file)) = operand.trim_start().split_once(' ')
                && programs::has_word(FILE_COMMANDS, command)
            {
                self.judge_argument(file.trim(), Access::Write, state);
            } else if contains_any(
                &operand.to_ascii_lowercase(),
                "attach|readfile(|writefile(|load_extension",
            ) {
                self.judge_code(&PartialWord::text(*operand), Language::Other, state);
            }
        }
    }
}

/// The first word may be a cluster without its dash, whose values follow in order:
/// `tar czf out.tgz src`.
pub(super) fn tar_arguments(args: &[PartialWord], program: &Program) -> Vec<PartialWord> {
    let Some((first, rest)) = args.split_first() else { return Vec::new() };
    if first.as_str().starts_with('-') || first.as_str().contains(['/', '.']) {
        return args.to_vec();
    }
    let mut rest = rest.iter().cloned();
    let mut all = Vec::with_capacity(args.len() + 4);
    for letter in first.as_str().chars() {
        all.push(PartialWord::text(format!("-{letter}")));
        if program.value_role(letter.encode_utf8(&mut [0; 4])).is_some() {
            all.extend(rest.next());
        }
    }
    all.extend(rest);
    all
}
