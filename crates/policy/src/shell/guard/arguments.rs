//! Parses arguments by the table of programs, and judges each by its role. An argument that is not
//! known to be anything else is a path.

use super::builtins::{Language, join_words};
use super::interpreter::{Input, Interpreter};
use super::options::{NamedCommand, Order};
use super::partial_word::{ANYTHING, PartialWord, STAR, is_marked};
use super::programs::{self, Operands, Program, Role, UNKNOWN, has_word};
use super::state::State;
use crate::intent::Access;
use std::rc::Rc;

/// One parsed argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument<'a> {
    /// An option with a value.
    Value {
        name: &'a str,
        value: &'a str,
        role: Role,
    },
    /// An option without a known value.
    Flag(&'a str),
    /// A cluster with letters that the table does not know.
    Cluster(&'a str),
    Operand(&'a str),
}

/// Parses arguments by a program's entry; also returns where the operands begin.
pub(super) fn parse<'a>(
    args: &'a [PartialWord],
    program: &'a Program,
    order: Order,
) -> (Vec<Argument<'a>>, usize) {
    let mut parsed = Vec::with_capacity(args.len());
    let mut at = 0;
    let mut first = None;
    while let Some(arg) = args.get(at).map(PartialWord::as_str) {
        at += 1;
        if arg == "--" {
            parsed.extend(args[at..].iter().map(|arg| Argument::Operand(arg.as_str())));
            return (parsed, first.unwrap_or(at));
        }
        if arg.len() < 2 || !arg.starts_with('-') {
            if order == Order::First {
                parsed.extend(args[at - 1..].iter().map(|arg| Argument::Operand(arg.as_str())));
                return (parsed, at - 1);
            }
            first = first.or(Some(at - 1));
            parsed.push(Argument::Operand(arg));
            continue;
        }
        let next = args.get(at).map(PartialWord::as_str);
        at += match arg.strip_prefix("--") {
            Some(long) => parse_long(long, next, program, order, &mut parsed),
            None => parse_short(arg, next, program, &mut parsed),
        };
    }
    let end = at.min(args.len());
    (parsed, first.unwrap_or(end))
}

fn parse_long<'a>(
    long: &'a str,
    next: Option<&'a str>,
    program: &'a Program,
    order: Order,
    parsed: &mut Vec<Argument<'a>>,
) -> usize {
    if is_marked(long.split('=').next().unwrap_or_default()) {
        parsed.push(Argument::Cluster(long));
        return 0;
    }
    if let Some((name, value)) = long.split_once('=') {
        let exact = program.value_role(name).or_else(|| program.value_role(&format!("{name}=")));
        let mut roles =
            exact.into_iter().chain(program.abbreviated(name).filter_map(|full| program.value_role(full)));
        let role = roles.next().filter(|first| exact.is_some() || roles.all(|role| role == *first));
        program.abbreviated(name).for_each(|full| parsed.push(Argument::Flag(full)));
        parsed.push(Argument::Value { name, value, role: role.unwrap_or(Role::Path) });
        return 0;
    }
    if program.is_pair(long) {
        return 2;
    }
    if let Some(role) = program.value_role(long) {
        parsed.push(Argument::Value { name: long, value: next.unwrap_or_default(), role });
        return 1;
    }
    // An abbreviation may be one of an option that the table does not know, and without a value.
    let mut valued = 0;
    for full in program.abbreviated(long).filter(|full| !full.ends_with('=')) {
        valued = 1;
        parsed.push(Argument::Flag(full));
        if let (Some(role), Some(value)) = (program.value_role(full), next) {
            let role = if role == Role::Text { Role::Path } else { role };
            parsed.push(Argument::Value { name: full, value, role });
        }
    }
    parsed.push(Argument::Flag(long));
    if order == Order::First { valued } else { 0 }
}

fn parse_short<'a>(
    arg: &'a str,
    next: Option<&'a str>,
    program: &'a Program,
    parsed: &mut Vec<Argument<'a>>,
) -> usize {
    if let Some(role) = program.value_role(arg) {
        parsed.push(Argument::Value { name: arg, value: next.unwrap_or_default(), role });
        return 1;
    }
    if let Some((name, value, role)) = program.joined_value(arg) {
        parsed.push(Argument::Value { name, value, role });
        return 0;
    }
    let mut known = true;
    for (at, letter) in arg.char_indices().skip(1) {
        let end = at + letter.len_utf8();
        let name = &arg[at..end];
        if let Some(role) = program.value_role(name) {
            let joined = &arg[end..];
            // Behind an unknown letter this may be a part of that one's value.
            let role = if known || role != Role::Text { role } else { Role::Path };
            if !known {
                parsed.push(Argument::Cluster(arg));
            }
            if joined.is_empty() {
                parsed.push(Argument::Value { name, value: next.unwrap_or_default(), role });
                return usize::from(known);
            }
            parsed.push(Argument::Value { name, value: joined, role });
            return 0;
        }
        parsed.push(Argument::Flag(name));
        if program.is_joined(letter) {
            return 0;
        }
        known &= program.is_flag(letter);
    }
    if !known {
        parsed.push(Argument::Cluster(arg));
    }
    0
}

impl Interpreter<'_> {
    /// Judges every argument that can name a path or a command.
    pub(super) fn judge_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let program = programs::find(call.name).unwrap_or(&UNKNOWN);
        match call.name {
            "find" => self.find_operands(call, state),
            "git" => self.git_operands(call, state),
            "sed" | "gsed" => self.sed_operands(call, program, state),
            "awk" | "gawk" | "mawk" | "nawk" => {
                self.judge_arguments(call.args, program, state);
                self.awk_programs(call, program, state);
            }
            "dd" => self.dd_operands(call, state),
            "ln" => self.ln_operands(call, state),
            "tar" | "bsdtar" | "gtar" => self.tar_operands(call, program, state),
            "sqlite3" => self.sqlite_operands(call, state),
            "curl" => {
                self.judge_arguments(call.args, program, state);
                self.curl_patterns(call, program);
            }
            "getent" => self.getent(call, state),
            "docker" | "podman" | "kubectl"
                if call.args.first().is_some_and(|verb| verb.as_str() == "cp") =>
            {
                let is_local = |arg: &&PartialWord| {
                    !arg.as_str().split('/').next().is_some_and(|host| host.contains(':'))
                };
                self.judge_some(call, is_local, state);
            }
            // `-d` lists the names themselves: `.` and `..` stay closed.
            "ls" if parse(call.args, program, Order::Free).0.contains(&Argument::Flag("d")) => {
                self.judge_some(call, |arg| !is_dot_pattern(arg.as_str()), state);
            }
            // `+/pattern` is the start position of an editor or a pager.
            "vim" | "vi" | "nvim" | "view" | "ex" | "less" | "more" | "nano" | "emacs" => {
                self.judge_some(call, |arg| !arg.as_str().starts_with('+'), state);
            }
            // `//dir:target` is a label in the project.
            "bazel" | "bazelisk" | "buck" | "buck2" | "pants" | "plz" => {
                self.judge_some(call, |arg| !arg.as_str().trim_start_matches('-').starts_with("//"), state);
            }
            _ => self.judge_arguments(call.args, program, state),
        }
    }

    fn judge_some(
        &mut self,
        call: &NamedCommand<'_>,
        is_judged: impl Fn(&&PartialWord) -> bool,
        state: &Rc<State>,
    ) {
        let args: Vec<PartialWord> = call.args.iter().filter(is_judged).cloned().collect();
        self.judge_arguments(&args, programs::find(call.name).unwrap_or(&UNKNOWN), state);
    }

    /// Judges arguments by the roles of a table entry.
    pub(super) fn judge_arguments(&mut self, args: &[PartialWord], program: &Program, state: &Rc<State>) {
        let mut files: Vec<&str> = Vec::new();
        let mut given: Vec<&str> = Vec::new();
        for argument in parse(args, program, Order::Free).0 {
            match argument {
                Argument::Value { name, value, role } => {
                    given.push(name);
                    // A value joined to an option of a program that takes text is text, too.
                    if role != Role::Path || program.operands != Operands::All(Role::Text) {
                        self.judge_role(role, value, state);
                    }
                }
                Argument::Flag(name) => given.push(name),
                Argument::Cluster(arg) if is_marked(arg) && program.runs_options() => {
                    self.report_computed("unknown-command", "an option that may be a command", arg);
                }
                Argument::Cluster(arg) if program.operands != Operands::All(Role::Text) => {
                    self.judge_cluster(arg, state);
                }
                Argument::Cluster(_) => {}
                Argument::Operand(file) => files.push(file),
            }
        }
        if given.iter().any(|name| has_word(program.lists_if, name)) {
            self.unknown_path(&join_words(args));
        }
        let is_text =
            program.first_text.is_some_and(|unless| !given.iter().any(|name| has_word(unless, name)));
        let files = &files[usize::from(is_text && !files.is_empty())..];
        for (at, file) in files.iter().enumerate() {
            let role = match program.operands {
                Operands::All(role) => role,
                Operands::IntoLast if at > 0 && at + 1 == files.len() => Role::Write,
                Operands::IntoLast => Role::Read,
                Operands::FirstOnly if at > 0 => Role::Text,
                Operands::FirstOnly => Role::Read,
            };
            self.judge_role(role, file, state);
        }
    }

    fn judge_role(&mut self, role: Role, value: &str, state: &Rc<State>) {
        let home = self.expand_home(value, state);
        match role {
            Role::Text => {}
            Role::At => {
                let file = value.strip_prefix('@').or_else(|| value.split_once("=@").map(|(_, file)| file));
                let file = file.or_else(|| value.split_once("=<").map(|(_, file)| file));
                let named = value
                    .split_once('@')
                    .map(|(_, file)| file)
                    .filter(|file| file.starts_with(['/', '~', '.']));
                // `x=@a,b;headers=@c`, with or without quotes.
                for part in file.or(named).into_iter().flat_map(|files| files.split([';', ','])) {
                    let file = part.rsplit(['@', '<']).next().unwrap_or_default().trim_matches('"');
                    self.judge_path(file, Access::Read, state);
                }
            }
            Role::Read => self.judge_argument(&home, Access::Read, state),
            Role::Write => self.judge_argument(&home, Access::Write, state),
            // Where the kernel holds writes, naming a path is not writing it.
            Role::Path if self.is_walled() => self.judge_argument(&home, Access::Read, state),
            Role::Path => self.judge_argument(&home, Access::Write, state),
            Role::Names => {
                self.judge_argument(&home, Access::Read, state);
                if !home.is_empty() {
                    self.unknown_path(value);
                }
            }
            Role::Shell => {
                self.interpret_with_sh(&PartialWord::text(value), state, &Input::Inherited);
            }
            Role::Code => self.judge_code(&PartialWord::text(value), Language::Other, state),
        }
    }

    /// `-I/etc`, `-d@/etc/passwd`: a path joined to an unknown option.
    fn judge_cluster(&mut self, arg: &str, state: &Rc<State>) {
        let start = ["/", "../", "@", "~/"].iter().filter_map(|mark| arg.find(mark)).min();
        let ends_up = arg.ends_with("..") && arg.len() > 3;
        let start = start.or(ends_up.then(|| arg.len() - 2));
        if let Some(start) = start {
            // A relative path may be joined as well: `-Iinclude/x` begins at `include`.
            let relative =
                arg[..start].len() > 2 && arg.as_bytes()[start] == b'/' && !arg[1..start].contains('=');
            if relative {
                self.judge_path(arg.get(2..).unwrap_or_default(), Access::Read, state);
            } else {
                self.judge_argument(&self.expand_home(&arg[start..], state), Access::Read, state);
            }
        } else if is_marked(arg) && arg.contains(ANYTHING) && arg.len() > 6 {
            self.judge_path(arg.get(2..).unwrap_or_default(), Access::Read, state);
        }
    }

    /// A database of accounts or of the network, which is a file in `/etc`. Names of hosts are not.
    fn getent(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let public = ["hosts", "ahosts", "ahostsv4", "ahostsv6", "services", "protocols", "networks", "rpc"];
        for database in call.args.iter().map(PartialWord::as_str).filter(|arg| !arg.starts_with('-')).take(1)
        {
            if !public.contains(&database) {
                self.judge_path(&format!("/etc/{database}"), Access::Read, state);
            }
        }
    }
}

/// `.*` and `.*/`, which match `.` and `..`.
fn is_dot_pattern(arg: &str) -> bool {
    arg.strip_prefix('.').is_some_and(|rest| rest.trim_end_matches('/').chars().eq([STAR]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(line: &str, order: Order) -> Vec<String> {
        let words: Vec<PartialWord> = line.split(' ').map(PartialWord::text).collect();
        let program = programs::find(words[0].as_str()).unwrap();
        let parsed = parse(&words[1..], program, order).0;
        let operand = |argument: &Argument<'_>| match argument {
            Argument::Operand(text) => Some((*text).to_owned()),
            _ => None,
        };
        parsed.iter().filter_map(operand).collect()
    }

    #[test]
    fn an_option_takes_only_what_the_table_says() {
        for (line, want) in [
            ("cat -n F", vec!["F"]),
            ("uniq -c F", vec!["F"]),
            ("column -t F", vec!["F"]),
            ("head -n 5 F", vec!["F"]),
            ("head -qn 5 F", vec!["F"]),
            ("head -xn 5 F", vec!["5", "F"]),
            ("grep --rege . F", vec![".", "F"]),
            ("grep --regexp . F", vec!["F"]),
            ("perl -ne print -l F", vec!["F"]),
            ("jq --arg a b . F", vec![".", "F"]),
        ] {
            assert_eq!(operands(line, Order::Free), want, "`{line}`");
        }
    }

    #[test]
    fn a_wrapped_command_begins_at_the_first_operand() {
        for (line, want) in [
            ("timeout --sig KILL 5 rm x", vec!["5", "rm", "x"]),
            ("nice -n 5 make -j4", vec!["make", "-j4"]),
            ("nice -- make", vec!["make"]),
        ] {
            assert_eq!(operands(line, Order::First), want, "`{line}`");
        }
    }
}
