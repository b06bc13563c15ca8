//! Shell builtins that change the state or run something.
//!
//! Whatever a builtin runs or evaluates is judged. What it sets is recorded, or becomes unknown.

use super::arithmetic::is_evaluated;
use super::dispatch::Invocation;
use super::interpreter::{Flow, Input, Interpreter};
use super::options::{Grammar, NamedCommand};
use super::partial_word::{ANYTHING, NAME, PartialWord};
use super::state::{State, Variable};
use crate::intent::Access;
use crate::shell::Dialect;
use std::rc::Rc;

impl Interpreter<'_> {
    /// The effect of a builtin; `None` if rules and operands decide as for any other command.
    pub(super) fn builtin(
        &mut self,
        call: &NamedCommand<'_>,
        invocation: &Invocation<'_>,
        state: &Rc<State>,
    ) -> Option<Flow> {
        if EVALUATING.contains(&call.name) && call.args.iter().any(|arg| is_evaluated(arg.as_str())) {
            self.report_not_understood(
                "a subscript that would be expanded again",
                &join_words(invocation.argv),
            );
        }
        Some(match call.name {
            "cd" | "chdir" => self.cd(call, state),
            "pushd" => self.pushd(call, state),
            "popd" => super::cd::popd(state),
            "exit" => {
                Flow { ok: None, fail: None, ended: Some(state.clone()), output: PartialWord::default() }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                let mut state = state.clone();
                if has_attribute(call, 'i') {
                    for name in call.args {
                        self.judge_evaluated(name.as_str(), &mut state);
                    }
                    Rc::make_mut(&mut state).integers = true;
                }
                declare_variables(call, &state)
            }
            "unset" => unset(call, state),
            "read" | "mapfile" | "readarray" => {
                if call.name != "read" {
                    for code in call.values(&Grammar { short: "dnOsuCc", ..Grammar::default() }, "C", &[]) {
                        self.interpret_string(&PartialWord::text(code), state, &Input::Inherited);
                    }
                }
                read_variables(call, state)
            }
            "printf" if call.args.first().is_some_and(|arg| arg.as_str() == "-v") => {
                assigned_by_printf(call, state)
            }
            "getopts" => {
                let mut state = state.clone();
                if let Some(name) = call.args.get(1).and_then(PartialWord::known) {
                    Rc::make_mut(&mut state).set(name, vec![PartialWord::gap(NAME)]);
                }
                Rc::make_mut(&mut state).set("OPTARG", vec![PartialWord::gap(ANYTHING)]);
                Flow::either(state)
            }
            "fc" if !call.has(&Grammar { short: "e", ..Grammar::default() }, "l", &[]) => {
                self.report_not_understood(
                    "a command of the history that is run again",
                    &join_words(invocation.argv),
                );
                Flow::either(state.clone())
            }
            "set" => {
                // A later line may then refer to an earlier one.
                let mut flags = call.args.iter().map(PartialWord::as_str).take_while(|arg| *arg != "--");
                if flags.any(|arg| arg.starts_with('-') && arg.contains('H') || arg == "histexpand") {
                    self.report_not_understood("history expansion", &join_words(invocation.argv));
                }
                set_options(call, state)
            }
            "shift" => shift_arguments(call, state),
            "let" => {
                let mut state = state.clone();
                for arg in call.args {
                    self.judge_evaluated(arg.as_str(), &mut state);
                }
                Flow::either(state).printing(PartialWord::default())
            }
            "eval" => {
                self.report_danger("eval", "`eval` runs text as a command", &join_words(invocation.argv));
                let code = call.args.iter().map(PartialWord::as_str).collect::<Vec<_>>().join(" ");
                self.interpret_string(&PartialWord::text(code), state, invocation.input)
            }
            "source" | "." => self.source(call, invocation, state),
            "trap" => {
                let args = match call.args {
                    [end, rest @ ..] if end.as_str() == "--" => rest,
                    args => args,
                };
                if let [code, _, ..] = args
                    && !matches!(code.as_str(), "" | "-" | "-l" | "-p")
                {
                    self.interpret_string(code, state, &Input::Inherited);
                }
                Flow::either(state.clone())
            }
            "alias" => self.alias(call, state),
            "test" | "[" => {
                let mut state = state.clone();
                self.file_tests(call.args, &mut state);
                Flow::either(state).printing(PartialWord::default())
            }
            "complete" | "compgen" | "bind" | "enable" | "hash"
                if call.has_arg(&["-C", "-F", "-W", "-x", "-f", "-p"]) =>
            {
                self.report_not_understood(
                    "a builtin that ties a command to something else",
                    &join_words(invocation.argv),
                );
                Flow::either(state.clone())
            }
            _ => return None,
        })
    }

    /// `alias`: its text is judged at once, and again with the arguments of each use.
    fn alias(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let mut next = (**state).clone();
        for definition in call.args {
            if let Some((name, code)) = definition.as_str().split_once('=') {
                self.interpret_string(&PartialWord::text(code), state, &Input::Inherited);
                Rc::make_mut(&mut next.aliases).insert(name.to_owned(), code.to_owned());
            }
        }
        Flow::either(Rc::new(next))
    }

    /// `source`: runs a file in the same shell. Only scripts that set up an environment are
    /// accepted.
    fn source(&mut self, call: &NamedCommand<'_>, invocation: &Invocation<'_>, state: &Rc<State>) -> Flow {
        let Some(file) = call.args.first() else { return Flow::either(state.clone()) };
        let places = self.judge_path(file.as_str(), Access::Read, state);
        let name = file.as_str().rsplit('/').next().unwrap_or_default();
        let environment = name.starts_with("activate") && file.as_str().contains("bin/")
            || name == ".env"
            || name.starts_with(".env.")
            || name.ends_with(".env");
        let made = places.iter().any(|place| state.files.contains_key(place));
        if !environment || made || file.known().is_none() {
            self.report_danger(
                "source",
                "`source` runs a file inside the shell",
                &join_words(invocation.argv),
            );
        }
        for place in places {
            self.run_file(&place, Language::Shell(self.dialect), state, invocation);
        }
        let mut next = (**state).clone();
        // The file may have set anything.
        next.set("PATH", vec![PartialWord::gap(ANYTHING)]);
        Flow::either(Rc::new(next))
    }

    /// File tests name files; the rest of a test is text.
    pub(super) fn file_tests(&mut self, words: &[PartialWord], state: &mut Rc<State>) {
        for (at, word) in words.iter().enumerate() {
            let text = word.as_str();
            let unary =
                text.len() == 2 && text.starts_with('-') && "abcdefghkprsuwxGLNOS".contains(&text[1..]);
            if unary && let Some(operand) = words.get(at + 1) {
                self.judge_path(operand.as_str(), Access::Read, state);
            }
            if matches!(text, "-v" | "-R")
                && let Some(operand) = words.get(at + 1)
            {
                self.judge_variable_name(operand);
            }
            if matches!(text, "-nt" | "-ot" | "-ef") {
                for operand in [at.checked_sub(1), at.checked_add(1)]
                    .into_iter()
                    .flatten()
                    .filter_map(|at| words.get(at))
                {
                    self.judge_path(operand.as_str(), Access::Read, state);
                }
            }
            if matches!(text, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") {
                for operand in [at.checked_sub(1), at.checked_add(1)]
                    .into_iter()
                    .flatten()
                    .filter_map(|at| words.get(at))
                {
                    self.judge_evaluated(operand.as_str(), state);
                    if operand.known().is_some_and(|text| text.contains(['$', '`'])) {
                        self.report_not_understood(
                            "a value that would be evaluated as arithmetic",
                            operand.as_str(),
                        );
                    }
                }
            }
        }
    }
}

/// Builtins with an argument that names a variable, whose subscript they evaluate.
const EVALUATING: &[&str] = &[
    "read",
    "mapfile",
    "readarray",
    "unset",
    "printf",
    "test",
    "[",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "getopts",
    "wait",
];

/// The language of a file or string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// A shell of this dialect.
    Shell(Dialect),
    /// Awk, whose regular expressions look like paths.
    Awk,
    /// Any other.
    Other,
}

pub(super) fn join_words(argv: &[PartialWord]) -> String {
    argv.iter().map(PartialWord::as_str).collect::<Vec<_>>().join(" ")
}

/// Whether an attribute or a flag is given, alone or in a cluster.
fn has_attribute(call: &NamedCommand<'_>, letter: char) -> bool {
    let flags = call.args.iter().map(PartialWord::as_str).take_while(|arg| arg.starts_with(['-', '+']));
    flags.filter(|arg| arg.starts_with('-') && !arg.starts_with("--")).any(|arg| arg.contains(letter))
}

/// The values are assigned already. A nameref can be anything.
fn declare_variables(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let mut next = state.clone();
    if call.args.iter().any(|arg| arg.as_str().starts_with('-') && arg.as_str().contains('n')) {
        for name in call.args.iter().filter_map(PartialWord::known).filter(|name| !name.starts_with('-')) {
            Rc::make_mut(&mut next).set(name, vec![PartialWord::gap(ANYTHING)]);
        }
    }
    Flow::ok(next).printing(PartialWord::gap(ANYTHING))
}

fn unset(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let mut next = (**state).clone();
    for name in call.args.iter().filter_map(PartialWord::known).filter(|name| !name.starts_with('-')) {
        next.assign(name, Variable::Unset);
        Rc::make_mut(&mut next.functions).remove(name);
    }
    Flow::either(Rc::new(next)).printing(PartialWord::default())
}

/// `read`, `mapfile`: variables that are set from the input.
fn read_variables(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let grammar = Grammar { short: "adinNptuOsC", ..Grammar::default() };
    let mut next = (**state).clone();
    let value = match call.input {
        Input::Piped(field) | Input::Text(field) if !field.as_str().is_empty() => first_line(field),
        _ => PartialWord::gap(ANYTHING),
    };
    let names: Vec<&str> = call.operands(&grammar);
    for name in call.values(&grammar, "a", &[]) {
        let words = match value.known() {
            Some(text) => text.split_whitespace().map(PartialWord::text).collect(),
            None => vec![value.clone()],
        };
        next.assign(name, Variable::Array(words));
    }
    let several = names.len() > 1;
    for name in names {
        let value =
            if several && value.known().is_some() { PartialWord::gap(ANYTHING) } else { value.clone() };
        next.set(name, vec![value]);
    }
    next.set("REPLY", vec![value]);
    Flow::either(Rc::new(next)).printing(PartialWord::default())
}

fn first_line(field: &PartialWord) -> PartialWord {
    let text = field.as_str().trim_end_matches('\n');
    if text.contains('\n') { PartialWord::gap(ANYTHING) } else { PartialWord::text(text) }
}

fn assigned_by_printf(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let mut next = (**state).clone();
    if let [_, name, format, rest @ ..] = call.args
        && let Some(name) = name.known()
    {
        let value = match (format.as_str(), rest) {
            ("%s", [only]) => only.clone(),
            (text, []) if !text.contains(['%', '\\']) => format.clone(),
            _ => PartialWord::gap(ANYTHING),
        };
        next.set(name, vec![value]);
    }
    Flow::either(Rc::new(next)).printing(PartialWord::default())
}

fn set_options(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let mut next = (**state).clone();
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--" => {
                next.arguments = args.cloned().collect();
                break;
            }
            "-o" | "+o" => {
                if args.next().is_some_and(|option| option.as_str() == "errexit") {
                    next.exits_on_error = arg.as_str() == "-o";
                }
            }
            flags if flags.starts_with('-') => {
                next.exits_on_error |= flags.contains('e');
                if flags.ends_with('o') {
                    args.next();
                }
            }
            flags if flags.starts_with('+') => next.exits_on_error &= !flags.contains('e'),
            _ => {
                next.arguments = std::iter::once(arg).chain(args).cloned().collect();
                break;
            }
        }
    }
    Flow::ok(Rc::new(next))
}

fn shift_arguments(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let mut next = (**state).clone();
    let count = call.args.first().map_or(Some(1), |count| count.known()?.parse().ok());
    match count {
        Some(count) if !next.arguments.iter().any(PartialWord::is_open) => {
            next.arguments = next.arguments.into_iter().skip(count).collect();
        }
        _ => next.arguments = vec![PartialWord::gap(ANYTHING)],
    }
    Flow::either(Rc::new(next)).printing(PartialWord::default())
}
