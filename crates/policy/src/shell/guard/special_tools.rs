//! Programs with their own argument rules: find, sed, awk, dd, ln, tar, sqlite3.
//!
//! Every file that their arguments or scripts name is judged.

use super::arg_profile::{self, First, Operands, Profile};
use super::builtins::Language;
use super::interpreter::Interpreter;
use super::options::{Grammar, NamedCommand};
use super::partial_word::PartialWord;
use super::sed;
use super::state::State;
use crate::intent::Access;
use std::rc::Rc;

impl Interpreter<'_> {
    pub(super) fn find_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let mut args = call.args.iter().map(PartialWord::as_str);
        let mut starts = true;
        while let Some(arg) = args.next() {
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
                "-newer" | "-anewer" | "-cnewer" | "-samefile" | "-files0-from" => {
                    self.judge_argument(args.next().unwrap_or_default(), Access::Read, state);
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    self.judge_argument(args.next().unwrap_or_default(), Access::Write, state);
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    for word in args.by_ref() {
                        if word == ";" || word == "+" {
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn sed_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let in_place = call
            .args
            .iter()
            .any(|arg| arg.as_str().starts_with("-i") || arg.as_str().starts_with("--in-place"));
        let access = if in_place { Access::Write } else { Access::Read };
        let profile = Profile {
            short: "efl",
            text: "el",
            long: &["expression", "file", "line-length"],
            text_long: &["expression", "line-length", "in-place"],
            first: First::TextUnless("ef", &["expression", "file"]),
            operands: Operands::Files(access),
            ..arg_profile::UNKNOWN
        };
        let args: Vec<PartialWord> = call
            .args
            .iter()
            .filter(|arg| !arg.as_str().starts_with("-i") || !arg.as_str().contains('/'))
            .cloned()
            .collect();
        self.judge_by_profile(&args, &profile, state);
        for script in sed::scripts(call) {
            for effect in sed::effects(script) {
                match effect {
                    sed::Effect::Runs("") => {
                        self.report_danger(
                            "sed-exec",
                            "this script of sed runs its lines as commands",
                            script,
                        );
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
    }

    pub(super) fn awk_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let profile = Profile {
            short: "Fvfie",
            text: "Fe",
            long: &["field-separator", "assign", "file", "source", "include"],
            text_long: &["field-separator", "source"],
            first: First::TextUnless("fe", &["file", "source"]),
            operands: Operands::Files(Access::Read),
            ..arg_profile::UNKNOWN
        };
        self.judge_by_profile(call.args, &profile, state);
        let grammar = Grammar { short: "Fvfie", long: profile.long, ..Default::default() };
        let mut programs = call.values(&grammar, "e", &["source"]);
        if !call.has(&grammar, "fe", &["file", "source"]) {
            programs.extend(call.operands(&grammar).first());
        }
        for program in programs {
            self.judge_code(&PartialWord::text(program), Language::Awk, state);
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
        let grammar = Grammar { short: "tS", long: &["target-directory", "suffix"], ..Default::default() };
        let symbolic = call.has(&grammar, "s", &["symbolic"]);
        for dir in call.values(&grammar, "t", &["target-directory"]) {
            self.judge_argument(dir, Access::Write, state);
        }
        if !symbolic {
            for operand in call.operands(&grammar) {
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

    pub(super) fn tar_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let profile = Profile {
            short: "fCTXIgLNVbK",
            text: "IgLNVbK",
            long: &[
                "file",
                "directory",
                "exclude",
                "transform",
                "files-from",
                "use-compress-program",
                "to-command",
                "checkpoint-action",
                "strip-components",
                "owner",
                "group",
                "mode",
            ],
            text_long: &[
                "exclude",
                "transform",
                "xform",
                "use-compress-program",
                "to-command",
                "checkpoint-action",
                "checkpoint",
                "strip-components",
                "owner",
                "group",
                "mode",
                "rsh-command",
                "info-script",
                "new-volume-script",
                "exclude-vcs",
            ],
            ..arg_profile::UNKNOWN
        };
        // The first word may be a cluster without its dash: `tar czf out.tgz src`.
        let mut args = call.args.to_vec();
        if let Some(first) = args.first_mut()
            && !first.as_str().starts_with('-')
            && !first.as_str().contains(['/', '.'])
        {
            *first = PartialWord::text(format!("-{}", first.as_str()));
        }
        let args = args
            .into_iter()
            .map(|arg| if arg.as_str() == "-" { PartialWord::text("./-") } else { arg })
            .collect::<Vec<_>>();
        self.judge_by_profile(&args, &profile, state);
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

    pub(super) fn sqlite_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let operands = call.operands(&Grammar::default());
        for (at, operand) in operands.iter().enumerate() {
            if at == 0 {
                self.judge_argument(operand, Access::Write, state);
            } else if operand.trim_start().starts_with(".sh") || operand.trim_start().starts_with(".sys") {
                self.report_danger("inline-shell", "a database command that runs a shell", operand);
            } else if let Some((command, file)) = operand.trim_start().split_once(' ')
                && matches!(
                    command,
                    ".read"
                        | ".open"
                        | ".import"
                        | ".output"
                        | ".once"
                        | ".backup"
                        | ".restore"
                        | ".save"
                        | ".clone"
                )
            {
                self.judge_argument(file.trim(), Access::Write, state);
            } else if ["attach", "readfile(", "writefile(", "load_extension"]
                .iter()
                .any(|call| operand.to_ascii_lowercase().contains(call))
            {
                self.judge_code(&PartialWord::text(*operand), Language::Other, state);
            }
        }
    }
}
