//! Shell builtins that change the state or run something.
//!
//! Whatever a builtin runs or evaluates is judged. What it sets is recorded, or becomes unknown.

use super::arithmetic::is_evaluated;
use super::interpreter::{Flow, Input, Interpreter, both};
use super::options::NamedCommand;
use super::partial_word::{ANYTHING, NAME, PartialWord};
use super::programs::has_word;
use super::simple::Scope;
use super::state::{State, Variable};
use crate::intent::Access;
use crate::path::CleanPath;
use crate::shell::Dialect;
use std::rc::Rc;

impl Interpreter<'_> {
    /// The effect of a builtin; `None` if rules and operands decide as for any other command.
    pub(super) fn builtin(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Option<Flow> {
        if has_word(EVALUATING, call.name) && call.args.iter().any(|arg| is_evaluated(arg.as_str())) {
            self.report_not_understood("a subscript that would be expanded again", &call.words());
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
                if call.args.iter().any(|arg| arg.known().is_none()) {
                    self.report_not_understood("a declaration of a name that is not known", &call.words());
                }
                for name in call.args.iter().map(PartialWord::as_str) {
                    match state.variables.get(name).cloned() {
                        Some(Variable::Scalar(targets)) if has_attribute(call, 'n') => {
                            targets.iter().for_each(|target| self.judge_set(target.as_str(), &state));
                        }
                        Some(value) if call.name == "export" || has_attribute(call, 'x') => {
                            self.judge_environment(name, &value, &state, Scope::Command);
                        }
                        _ => {}
                    }
                }
                self.declare_variables(call, &state)
            }
            "return" | "break" | "continue" => {
                self.escaped = both(self.escaped.take(), Some(state.clone()));
                Flow::either(state.clone()).printing(PartialWord::default())
            }
            "unset" => unset(call, state),
            "read" | "mapfile" | "readarray" => {
                if call.name != "read" && !call.values(MAPFILE, "C").is_empty() {
                    self.report_not_understood("a command that is run for every line", &call.words());
                }
                if state.integers || self.has_quoted_code {
                    let text = match call.input {
                        Input::Text(text) | Input::Piped(text) => text.clone(),
                        _ => PartialWord::gap(ANYTHING),
                    };
                    if super::arithmetic::is_evaluated(text.as_str())
                        || (state.integers && text.known().is_none())
                    {
                        self.report_evaluated(text.as_str());
                    }
                }
                let flow = read_variables(call, state);
                let grammar = if call.name == "read" { READ } else { MAPFILE };
                for name in call.operands(grammar).into_iter().chain(call.values(grammar, "a")) {
                    flow.ok.iter().for_each(|state| self.judge_set(name, state));
                }
                flow
            }
            "printf" if call.args.first().is_some_and(|arg| arg.as_str().starts_with("-v")) => {
                if state.integers && call.args.iter().any(super::arithmetic::holds_code) {
                    self.report_evaluated(&join_words(call.args));
                }
                let flow = assigned_by_printf(call, state);
                for name in call.values("v", "v") {
                    flow.ok.iter().for_each(|state| self.judge_set(name, state));
                }
                flow
            }
            "getopts" => {
                let mut state = state.clone();
                match call.args.get(1).and_then(PartialWord::known) {
                    Some(name) => Rc::make_mut(&mut state).set(name, vec![PartialWord::gap(NAME)]),
                    None => Rc::make_mut(&mut state).forget_variables(),
                }
                Flow::either(state)
            }
            "fc" if !call.has("e", "l") => {
                self.report_not_understood("a command of the history that is run again", &call.words());
                Flow::either(state.clone())
            }
            "set" => {
                // A later line may then refer to an earlier one.
                let mut flags = call.args.iter().map(PartialWord::as_str).take_while(|arg| *arg != "--");
                if flags.any(|arg| arg.starts_with('-') && arg.contains('H') || arg == "histexpand") {
                    self.report_not_understood("history expansion", &call.words());
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
                self.report_danger("eval", "`eval` runs text as a command", &call.words());
                let code = call.args.iter().map(PartialWord::as_str).collect::<Vec<_>>().join(" ");
                self.interpret_string(&PartialWord::text(code), state, call.input)
            }
            "source" | "." => self.source(call, state),
            "trap" => {
                let args = match call.args {
                    [end, rest @ ..] if end.as_str() == "--" => rest,
                    args => args,
                };
                if let [code, _, ..] = args
                    && !matches!(code.as_str(), "" | "-" | "-l" | "-p")
                {
                    self.store_code(code.clone(), state);
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
                if call.args.iter().any(|arg| {
                    arg.as_str().starts_with('-') && arg.as_str().contains(['C', 'F', 'W', 'x', 'f', 'p'])
                }) =>
            {
                self.report_not_understood("a builtin that ties a command to something else", &call.words());
                Flow::either(state.clone())
            }
            _ => return None,
        })
    }

    /// Judges the stored code in the states that a command has led to, if they may matter to it.
    pub(super) fn run_stored(&mut self, before: &State, flow: &Flow) {
        let stored = std::mem::take(&mut self.stored);
        for state in [&flow.ok, &flow.fail, &flow.ended].into_iter().flatten() {
            if !state.runs_alike(before) {
                stored.iter().for_each(|code| {
                    self.interpret_string(code, state, &Input::Inherited);
                });
            }
        }
        self.stored.splice(..0, stored);
    }

    /// Judges code that the shell keeps, now and after every further command.
    pub(super) fn store_code(&mut self, code: PartialWord, state: &Rc<State>) {
        self.interpret_string(&code, state, &Input::Inherited);
        if !self.stored.contains(&code) {
            self.stored.push(code);
        }
    }

    /// Judges a variable that was set in another way than by an assignment.
    pub(super) fn judge_set(&mut self, name: &str, state: &Rc<State>) {
        let name = name.split('[').next().unwrap_or_default();
        let value = state.variables.get(name).cloned().unwrap_or_else(Variable::unknown);
        if let (Variable::Scalar(values) | Variable::Array(values), true) = (&value, name.starts_with("PS"))
            && name.len() == 3
            && values.iter().any(PartialWord::is_open)
        {
            self.report_computed("unknown-code", "a prompt, which the shell expands,", name);
        }
        self.judge_environment(name, &value, state, Scope::Shell);
    }

    /// The values are assigned already. What a nameref, a read-only variable or one with an
    /// attribute becomes is not followed.
    fn declare_variables(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let mut next = (**state).clone();
        let names =
            || call.args.iter().filter_map(PartialWord::known).filter(|name| !name.starts_with(['-', '+']));
        if has_attribute(call, 'n') {
            next.forget_variables();
        }
        let untracked = ['l', 'u', 'c', 'i', 'A'].iter().any(|letter| has_attribute(call, *letter));
        if untracked {
            names().for_each(|name| next.assign(name, Variable::unknown()));
        }
        if untracked || call.name == "readonly" || has_attribute(call, 'r') {
            names().for_each(|name| next.untrack(name));
        }
        let is_local = call.name == "local"
            || (call.name != "export" && call.name != "readonly" && !has_attribute(call, 'g'));
        if is_local && let Some(locals) = self.locals.last_mut() {
            locals.extend(names().map(str::to_owned));
        }
        let listing = names().next().is_none();
        Flow::either(Rc::new(next)).printing(if listing {
            PartialWord::gap(ANYTHING)
        } else {
            PartialWord::default()
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
    fn source(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let Some(file) = call.args.first() else { return Flow::either(state.clone()) };
        let places = self.judge_path(file.as_str(), Access::Read, state);
        let name = file.as_str().rsplit('/').next().unwrap_or_default();
        let environment = name.starts_with("activate") && file.as_str().contains("bin/")
            || name == ".env"
            || name.starts_with(".env.")
            || name.ends_with(".env");
        let made = places.iter().any(|place| state.files.contains_key(place));
        // Where the kernel holds what it does, a file of the workspace is a script like any other.
        let in_workspace = |place: &CleanPath| self.context.zones.in_workspace(place).is_some();
        let is_script = self.is_walled() && !places.is_empty() && places.iter().all(in_workspace);
        if !(environment || is_script) || made || file.known().is_none() {
            self.report_danger("source", "`source` runs a file inside the shell", &call.words());
        }
        for place in places {
            self.run_file(&place, Language::Shell(self.dialect), state, call);
        }
        let mut next = (**state).clone();
        // The file may have set anything.
        next.set("PATH", vec![PartialWord::gap(ANYTHING)]);
        next.forget_variables();
        Flow::either(Rc::new(next))
    }

    /// File tests name files; the rest of a test is text.
    pub(super) fn file_tests(&mut self, words: &[PartialWord], state: &mut Rc<State>) {
        for (at, word) in words.iter().enumerate() {
            let text = word.as_str();
            let right = words.get(at + 1);
            let sides = || at.checked_sub(1).and_then(|at| words.get(at)).into_iter().chain(right);
            match text {
                "-v" | "-R" => right.into_iter().for_each(|name| self.judge_variable_name(name)),
                "-nt" | "-ot" | "-ef" => {
                    for operand in sides() {
                        self.judge_path(operand.as_str(), Access::Read, state);
                    }
                }
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    for operand in sides() {
                        self.judge_evaluated(operand.as_str(), state);
                        if operand.known().is_some_and(|text| text.contains(['$', '`'])) {
                            self.report_evaluated(operand.as_str());
                        }
                    }
                }
                _ if text.strip_prefix('-').is_some_and(is_file_test) => {
                    if let Some(operand) = right {
                        self.judge_path(operand.as_str(), Access::Read, state);
                    }
                }
                _ => {}
            }
        }
    }
}

fn is_file_test(letter: &str) -> bool {
    letter.len() == 1 && "abcdefghkprsuwxGLNOS".contains(letter)
}

/// Options of `read` and of `mapfile` with a value.
const READ: &str = "a d i n N p t u";
const MAPFILE: &str = "d n O s u C c";
/// Builtins with an argument that names a variable, whose subscript they evaluate.
const EVALUATING: &str =
    "read mapfile readarray unset printf test [ let declare typeset local export readonly getopts wait";

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

fn unset(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let mut next = (**state).clone();
    let functions = has_attribute(call, 'f');
    for name in call.args {
        let Some(name) = name.known() else {
            next.forget_variables();
            continue;
        };
        if name.starts_with('-') {
            continue;
        }
        match name.split_once('[') {
            Some((array, _)) => next.assign(array, Variable::unknown()),
            None if !functions => next.assign(name, Variable::Unset),
            None => {}
        }
        if let Some(function) = Rc::make_mut(&mut next.functions).get_mut(name) {
            function.is_certain = false;
        }
        if functions {
            Rc::make_mut(&mut next.functions).remove(name);
        }
    }
    Flow::either(Rc::new(next)).printing(PartialWord::default())
}

/// `read`, `mapfile`: variables that are set from the input.
fn read_variables(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let grammar = if call.name == "read" { READ } else { MAPFILE };
    let mut next = (**state).clone();
    // Exact only for a line that is read whole, without other separators and escapes.
    let exact = |text: &str| {
        !call.has(grammar, "d i n N u O") && !state.variables.contains_key("IFS") && !text.contains('\\')
    };
    let value = match call.input {
        Input::Piped(field) | Input::Text(field) if !field.as_str().is_empty() && exact(field.as_str()) => {
            first_line(field)
        }
        _ => PartialWord::gap(ANYTHING),
    };
    let names: Vec<&str> = call.operands(grammar);
    let arrays = call.values(grammar, "a");
    if names.iter().chain(&arrays).any(|name| name.contains('[') || super::partial_word::is_marked(name)) {
        next.forget_variables();
    }
    for name in &arrays {
        let words = match value.known() {
            Some(text) => text.split_whitespace().map(PartialWord::text).collect(),
            None => vec![PartialWord::gap(ANYTHING)],
        };
        next.assign(name, Variable::Array(words));
    }
    let several = names.len() > 1;
    for name in &names {
        let value =
            if several && value.known().is_some() { PartialWord::gap(ANYTHING) } else { value.clone() };
        next.set(name, vec![value]);
    }
    if names.is_empty() && arrays.is_empty() {
        next.set("REPLY", vec![value]);
    }
    Flow::either(Rc::new(next)).printing(PartialWord::default())
}

fn first_line(field: &PartialWord) -> PartialWord {
    let text = field.as_str().trim();
    if text.contains('\n') { PartialWord::gap(ANYTHING) } else { PartialWord::text(text) }
}

fn assigned_by_printf(call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
    let mut next = (**state).clone();
    let (name, rest) = match call.args {
        [flag, name, rest @ ..] if flag.as_str() == "-v" => (name.as_str(), rest),
        [flag, rest @ ..] => (flag.as_str().trim_start_matches("-v"), rest),
        [] => return Flow::either(state.clone()),
    };
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        next.forget_variables();
    }
    let value = match rest {
        [format, only] if format.as_str() == "%s" => only.clone(),
        [text] if !text.as_str().contains(['%', '\\']) => text.clone(),
        _ => PartialWord::gap(ANYTHING),
    };
    next.set(name, vec![value]);
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
